#include "device/device.h"

#include <fmt/format.h>

#include <utility>

#include "lockstep/error.h"

namespace lockstep {

Buffer::Buffer(void* data, std::size_t bytes, std::function<void(void*)> release)
    : data_(data, std::move(release)), bytes_(bytes) {}

void check_memory(std::size_t available, std::size_t bytes, const char* purpose) {
  if (bytes <= available) return;
  throw Error(Category::resource,
              fmt::format("not enough memory for the {}: {} MB are needed, {} MB are available to this rank",
                          purpose, bytes >> 20, available >> 20));
}

HostView::HostView(Device& device, const Buffer& buffer)
    : device_(&device), data_(buffer.data()), mirror_(device.mirror(buffer)) {}

void HostView::fetch() const {
  if (mirror_.data() != data_) device_->copy(mirror_.data(), data_, mirror_.bytes());
}

void HostView::store() const {
  if (mirror_.data() != data_) device_->copy(data_, mirror_.data(), mirror_.bytes());
}

}  // namespace lockstep
