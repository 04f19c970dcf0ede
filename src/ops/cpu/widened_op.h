#pragma once

#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Runs a convolution of floats on operands that are stored in bf16: widens what it reads, also in backward,
/// rounds what it writes, and rounds the weights for it. Its sums, parameters and their gradients are floats.
Op widened(const OpRequest& request, Op op);
/// Likewise for a loss.
Loss widened(const Loss& loss, Shape logits, Level level);
/// Bytes of scratch memory that a widened loss needs for micro-batches of up to `samples`.
std::size_t widened_loss_bytes(Shape logits, int samples);

}  // namespace lockstep::cpu
