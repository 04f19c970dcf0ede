#pragma once

#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Runs operations of floats on operands that are stored in bf16: widens what an operation reads, rounds what
/// it writes. The weights of convolutions are rounded for it as well.
/// Sums inside an operation, parameters and their gradients are floats.
Op widened(const OpRequest& request, Op op);
/// Likewise for a loss.
Loss widened(const Loss& loss, Shape logits, Level level);
/// Bytes of scratch memory that a widened loss needs for micro-batches of up to `samples`.
std::size_t widened_loss_bytes(Shape logits, int samples);

}  // namespace lockstep::cpu
