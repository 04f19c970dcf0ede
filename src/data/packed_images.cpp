#include "data/packed_images.h"

#include <fmt/format.h>

#include "data/fingerprint.h"
#include "data/mapped_file.h"
#include "data/shard_index.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class PackedImages : public Dataset {
 public:
  PackedImages(const std::filesystem::path& folder, const std::string& part, ShardIndex index, Shape shape)
      : folder_(folder.string()), part_(part), index_(std::move(index)), shape_(shape) {
    std::uint64_t name = 0;
    for (const ShardIndex::Entry& entry : index_.entries) {
      name_offsets_.push_back(name);
      name += entry.name_length;
      while (shards_.size() <= entry.shard && shards_.size() <= index_.entries.size()) {
        shards_.emplace_back(folder / shard_name(part, static_cast<std::uint32_t>(shards_.size())));
      }
      const std::uint64_t bytes = entry.shard < shards_.size() ? shards_[entry.shard].bytes().size() : 0;
      if (entry.offset > bytes || entry.length > bytes - entry.offset) {
        throw Error(
            Category::data,
            fmt::format("{}: {} bytes, but a sample was packed at byte {} with {}: the file is too short",
                        (folder / shard_name(part, entry.shard)).string(), bytes, entry.offset,
                        entry.length));
      }
    }
  }

  std::uint64_t size() const override { return index_.entries.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(index_.classes.size()); }
  Encoding encoding() const override { return Encoding::image_file; }
  std::span<const std::uint8_t> sample(std::uint64_t id,
                                       std::vector<std::uint8_t>& /*buffer*/) const override {
    const ShardIndex::Entry& entry = index_.entries[id];
    const auto bytes = shards_[entry.shard].bytes().subspan(entry.offset, entry.length);
    if (shard_checksum(bytes) != entry.checksum) {
      throw Error(Category::data,
                  fmt::format("{}: its checksum is wrong: the file is damaged", sample_name(id)));
    }
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  }
  int label(std::uint64_t id) const override { return static_cast<int>(index_.entries[id].label); }
  /// The index has a checksum of each sample, which is compared when the sample is read.
  std::string fingerprint() const override {
    return Fingerprint(*this).add(index_.digest[0]).add(index_.digest[1]).text();
  }
  std::string sample_name(std::uint64_t id) const override {
    const ShardIndex::Entry& entry = index_.entries[id];
    return fmt::format("{}/{}: {} at byte {}", folder_, shard_name(part_, entry.shard),
                       std::string_view(index_.sample_names).substr(name_offsets_[id], entry.name_length),
                       entry.offset);
  }
  std::vector<std::string> class_names() const override { return index_.classes; }

 private:
  std::string folder_;
  std::string part_;
  ShardIndex index_;
  Shape shape_;
  std::vector<std::uint64_t> name_offsets_;
  std::vector<MappedFile> shards_;
};

}  // namespace

bool has_packed_images(const std::filesystem::path& folder, const std::string& part) {
  std::error_code ignored;
  return std::filesystem::exists(folder / (part + ".index"), ignored);
}

std::unique_ptr<Dataset> open_packed_images(const std::filesystem::path& folder, const std::string& part,
                                            Shape shape) {
  const std::filesystem::path file = folder / (part + ".index");
  const MappedFile index(file);
  return std::make_unique<PackedImages>(folder, part, parse_shard_index(index.bytes(), file.string()), shape);
}

}  // namespace lockstep
