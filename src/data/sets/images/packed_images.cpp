#include "data/sets/images/packed_images.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files/file.h"
#include "data/files/shard_index.h"
#include "data/fingerprint.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class PackedImages : public Dataset {
 public:
  PackedImages(const std::filesystem::path& folder, const std::string& part, ShardIndex index, Shape shape)
      : folder_(folder.string()), part_(part), index_(std::move(index)), shape_(shape) {
    const auto last = std::ranges::max_element(index_.entries, {}, &ShardIndex::Entry::shard);
    // A damaged index may contain any shard number; the limit is valid because a shard has at least one
    // sample.
    if (last != index_.entries.end()) {
      reserve_open_files(std::min<std::size_t>(last->shard, index_.entries.size()) + 1,
                         fmt::format("{} ({} images in shards)", folder_, part_));
    }
    std::uint64_t name = 0;
    for (const ShardIndex::Entry& entry : index_.entries) {
      name_offsets_.push_back(name);
      name += entry.name_length;
      while (shards_.size() <= entry.shard && shards_.size() <= index_.entries.size()) {
        shards_.emplace_back(folder / shard_name(part, static_cast<std::uint32_t>(shards_.size())));
      }
      const std::uint64_t bytes = entry.shard < shards_.size() ? shards_[entry.shard].size() : 0;
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
  /// Reads from the shard instead of mapping it: if the shard is truncated during a run, reading a sample
  /// throws an error instead of raising SIGBUS.
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const ShardIndex::Entry& entry = index_.entries[id];
    buffer.resize(std::max<std::size_t>(buffer.size(), entry.length));
    const auto bytes = std::span(buffer).first(entry.length);
    shards_[entry.shard].read(entry.offset, std::as_writable_bytes(bytes));
    if (shard_checksum(std::as_bytes(bytes)) != entry.checksum) {
      throw Error(Category::data,
                  fmt::format("{}: its checksum is wrong: the file is damaged", sample_name(id)));
    }
    return bytes;
  }
  int label(std::uint64_t id) const override { return static_cast<int>(index_.entries[id].label); }
  /// Covers the index only, which has a checksum of each sample; sample() verifies the checksum.
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
  std::vector<InputFile> shards_;
};

}  // namespace

bool has_packed_images(const std::filesystem::path& folder) {
  return file_kind(folder / "train.index") != FileKind::missing;
}

std::unique_ptr<Dataset> open_packed_images(const std::filesystem::path& folder, const std::string& part,
                                            Shape shape) {
  const std::filesystem::path file = folder / (part + ".index");
  return std::make_unique<PackedImages>(folder, part, parse_shard_index(read_file(file), file.string()),
                                        shape);
}

}  // namespace lockstep
