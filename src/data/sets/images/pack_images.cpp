#include "data/sets/images/pack_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/files/folder.h"
#include "data/files/shard_index.h"
#include "data/image/decoder.h"
#include "data/image/jpeg.h"
#include "data/image/resample.h"
#include "data/sets/images/listed_images.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Converts image files to their packed form.
class Shrinker {
 public:
  Shrinker(int size, int quality) : size_(size), quality_(quality) {}

  /// Returns a shrunk image as a JPEG file, or `file` itself if the image is small enough or a side would be
  /// too long for JPEG. Throws Error(data) for a file that cannot be decoded.
  std::span<const std::uint8_t> shrink(std::span<const std::uint8_t> file) {
    const ImageSize size = decoder_.open(file);
    const Box all{0.0, 0.0, static_cast<double>(size.width), static_cast<double>(size.height)};
    const double scale = static_cast<double>(size_) / std::min(size.width, size.height);
    const auto scaled = [&](int side) {
      return std::max(1, static_cast<int>(std::floor(side * scale + 0.5)));
    };
    if (scale >= 1.0 || scaled(std::max(size.width, size.height)) > largest_jpeg_side) {
      decoder_.decode(all, size, 3, part_);
      return file;
    }
    small_.set_size(scaled(size.width), scaled(size.height), 3);
    decoder_.decode(all, {small_.width, small_.height}, 3, part_);
    const auto plane = static_cast<std::size_t>(small_.width) * static_cast<std::size_t>(small_.height);
    planes_.resize(std::max(planes_.size(), 3 * plane));
    resampler_.resize(part_.image, part_.box, small_.width, small_.height, planes_.data());
    for (std::size_t i = 0; i < 3 * plane; ++i) {
      small_.pixels[i] = planes_[i % 3 * plane + i / 3];
    }
    encoded_ = encode_jpeg(small_, quality_);
    return encoded_;
  }

 private:
  int size_;
  int quality_;
  ImageDecoder decoder_;
  Resampler resampler_;
  ImagePart part_;
  Image small_;
  std::vector<std::uint8_t> planes_;
  std::vector<std::uint8_t> encoded_;
};

void write_index(const ShardIndex& index, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(serialize(index));
  try {
    file.commit();
  } catch (const Error&) {
    files().unlink(path);  // exists if only the final sync failed; the next packing would be refused
    throw;
  }
}

/// Removes the shards from `number` on, left by an earlier packing.
void remove_shards_from(const std::filesystem::path& folder, const std::string& part, std::uint32_t number) {
  while (files().unlink(folder / shard_name(part, number)) == 0) ++number;
}

/// Writer of samples to consecutive shards, and of their index.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& folder, const std::string& part, std::uint64_t shard_bytes)
      : folder_(folder), part_(part), shard_bytes_(shard_bytes) {}

  void add(const ImageList::File& file, std::span<const std::uint8_t> image) {
    const auto bytes = std::as_bytes(image);
    if (!shard_ || written_ >= shard_bytes_) {
      finish();
      shard_ = std::make_unique<AtomicFile>(folder_ / shard_name(part_, shards_++));
      written_ = 0;
    }
    index.entries.push_back({.offset = written_,
                             .checksum = shard_checksum(bytes),
                             .length = static_cast<std::uint32_t>(bytes.size()),
                             .shard = shards_ - 1,
                             .label = static_cast<std::uint32_t>(file.label),
                             .name_length = static_cast<std::uint32_t>(file.name.size())});
    index.sample_names += file.name;
    shard_->write(bytes);
    written_ += bytes.size();
    total_ += bytes.size();
  }
  void finish() {
    if (shard_) shard_->commit();
  }
  std::uint32_t shards() const { return shards_; }
  std::uint64_t total() const { return total_; }

  ShardIndex index;

 private:
  std::filesystem::path folder_;
  std::string part_;
  std::uint64_t shard_bytes_;
  std::unique_ptr<AtomicFile> shard_;
  std::uint64_t written_ = 0;  ///< bytes written to shard_
  std::uint32_t shards_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

void remove_packed_images(const std::filesystem::path& folder, const std::string& part) {
  if (file_kind(folder) != FileKind::folder) return;
  remove_file(folder / (part + ".index"));
  remove_shards_from(folder, part, 0);
}

PackResult pack_images(const ImageList& list, const std::filesystem::path& folder, const std::string& part,
                       const PackOptions& options) {
  make_folder(folder);
  const std::filesystem::path index_file = folder / (part + ".index");
  remove_file(index_file);  // index of an earlier packing, whose shards will be replaced
  remove_leftovers(folder, [&](std::string_view name) { return name.starts_with(part + "-"); });
  const auto images = make_images(list, {});
  ShardWriter writer(folder, part, options.shard_bytes);
  writer.index.classes = list.classes;
  Shrinker shrinker(options.size, options.quality);
  PackResult result;
  std::vector<std::uint8_t> buffer;
  for (std::uint64_t id = 0; id < images->size(); ++id) {
    std::span<const std::uint8_t> image;
    try {
      image = shrinker.shrink(images->sample(id, buffer));
    } catch (const Error& bad) {
      if (bad.category() != Category::data) throw;
      const std::string name = images->sample_name(id);
      const std::string what = bad.what();
      const std::string line = what.starts_with(name) ? what : fmt::format("{}: {}", name, what);
      if (options.strict) throw Error(Category::data, line);
      if (options.on_bad_file) options.on_bad_file(line);
      ++result.bad;
      continue;
    }
    writer.add(list.files[id], image);
  }
  writer.finish();
  if (writer.index.entries.empty()) {
    throw Error(Category::data, fmt::format("{}: no image there can be read", list.place()));
  }
  write_index(writer.index, index_file);
  remove_shards_from(folder, part, writer.shards());
  result.packed = writer.index.entries.size();
  result.bytes = writer.total();
  result.shards = writer.shards();
  return result;
}

}  // namespace lockstep
