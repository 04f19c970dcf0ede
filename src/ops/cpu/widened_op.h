#pragma once

#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Makes an operation on activations stored in bf16 from `op`, a convolution of floats. Forward and backward
/// widen the activations that they read, round those that they write, and round the weights. Sums, parameters
/// and gradients of parameters remain floats.
Op widened(const OpRequest& request, Op op);
/// The same for a loss.
Loss widened(const Loss& loss, Shape logits, Level level);
/// Bytes of scratch memory that a widened loss needs for micro-batches of up to `samples`.
std::size_t widened_loss_bytes(Shape logits, int samples);

}  // namespace lockstep::cpu
