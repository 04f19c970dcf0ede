#include "device/device.h"

#include <utility>

namespace lockstep {

Buffer::Buffer(void* data, std::size_t bytes, std::function<void(void*)> release)
    : data_(data, std::move(release)), bytes_(bytes) {}

HostView::HostView(Device& device, const Buffer& buffer)
    : device_(&device), data_(buffer.data()), mirror_(device.mirror(buffer)) {}

void HostView::fetch() const {
  if (mirror_.data() != data_) device_->copy(mirror_.data(), data_, mirror_.bytes());
}

void HostView::store() const {
  if (mirror_.data() != data_) device_->copy(data_, mirror_.data(), mirror_.bytes());
}

}  // namespace lockstep
