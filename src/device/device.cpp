#include "device/device.h"

#include <utility>

namespace lockstep {

Buffer::Buffer(void* data, std::size_t bytes, std::function<void(void*)> release)
    : data_(data, std::move(release)), bytes_(bytes) {}

}  // namespace lockstep
