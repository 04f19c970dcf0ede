#pragma once

#include <memory>

#include "device/cuda/native/streams.h"

namespace lockstep::cuda {

/// Upload into `memory` by a stream of its own, beside the work of `stream`, which outlives it.
std::unique_ptr<Upload> make_upload(RecordingStream& stream, Buffer memory);

}  // namespace lockstep::cuda
