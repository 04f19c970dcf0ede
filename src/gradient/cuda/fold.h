#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tree.h"
#include "device/cuda/stream_handle.h"

/// Sums of arenas on a GPU, with the same bits as gradient/block_fold.h. Arrays are in device memory and have
/// elements [0, count). Fastest if addresses are multiples of 16 bytes and counts are multiples of 4.
namespace lockstep::cuda {

/// Maximum number of inputs of a sum: their addresses are arguments of the kernel.
constexpr std::size_t most_inputs = 1024;

/// output[i] = sum of inputs[..][i] in the order of `program` (Fold); zeros if `program` is empty. The output
/// may be one of the inputs. The contents of the spans are copied. Throws Error(usage) for more than
/// most_inputs inputs.
void fold(StreamHandle stream, std::span<const std::int32_t> program, std::span<const float* const> inputs,
          std::size_t count, float* output);

/// into[i] = into[i] + from[i]
void add(StreamHandle stream, float* into, const float* from, std::size_t count);

void fill(StreamHandle stream, float* to, float value, std::size_t count);

}  // namespace lockstep::cuda
