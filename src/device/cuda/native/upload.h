#pragma once

#include <memory>

#include "device/cuda/native/streams.h"

namespace lockstep::cuda {

/// Upload into `memory` on a separate stream, concurrently with the work of `stream`, which must outlive the
/// upload.
std::unique_ptr<Upload> make_upload(RecordingStream& stream, Buffer memory);

}  // namespace lockstep::cuda
