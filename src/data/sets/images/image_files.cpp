#include "data/sets/images/image_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/files/file.h"
#include "data/fingerprint.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t max_input_bytes = std::uint64_t{1} << 28;

class ImageFiles final : public Dataset {
 public:
  ImageFiles(std::vector<std::string> paths, Shape shape) : paths_(std::move(paths)), shape_(shape) {}

  std::uint64_t size() const override { return paths_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return 1; }
  Encoding encoding() const override { return Encoding::image_file; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const InputFile file(paths_[id]);
    if (file.size() > max_input_bytes) {
      throw Error(Category::data,
                  fmt::format("{}: {} bytes are too many for an image", paths_[id], file.size()));
    }
    buffer.resize(std::max<std::size_t>(buffer.size(), file.size()));
    const auto bytes = std::span(buffer).first(file.size());
    file.read(0, std::as_writable_bytes(bytes));
    return bytes;
  }
  int label(std::uint64_t /*id*/) const override { return 0; }
  /// Covers the names only, as contents may be large; an evaluation compares some of them.
  std::string fingerprint() const override {
    Fingerprint fingerprint(*this);
    for (const std::string& path : paths_) fingerprint.add(path);
    return fingerprint.text();
  }
  std::string sample_name(std::uint64_t id) const override { return paths_[id]; }

 private:
  std::vector<std::string> paths_;
  Shape shape_;
};

}  // namespace

std::unique_ptr<Dataset> make_image_files(std::vector<std::string> paths, Shape shape) {
  return std::make_unique<ImageFiles>(std::move(paths), shape);
}

}  // namespace lockstep
