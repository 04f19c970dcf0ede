#include "device/device.h"

#include <fmt/format.h>

#include <utility>

#include "core/clock.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Upload in the stream's order, by calls of the host.
class UploadByCalls final : public Upload {
 public:
  UploadByCalls(Device& device, std::size_t bytes) : Upload(device.allocate(bytes)), device_(device) {}

  void fill(Stream& stream, Source source) override {
    stream.call(
        [this, source = std::move(source)] {
          const double start = steady_seconds();
          const std::span<const std::byte> bytes = source();
          device_.copy(data(), bytes.data(), bytes.size());
          waited_ += steady_seconds() - start;
        },
        Phase::load);
  }
  void release(Stream& /*stream*/) override {}
  void wait() override {}
  double waited() const override { return waited_; }

 private:
  Device& device_;
  double waited_ = 0.0;
};

}  // namespace

std::unique_ptr<Upload> Device::make_upload(std::size_t bytes) {
  return std::make_unique<UploadByCalls>(*this, bytes);
}

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
