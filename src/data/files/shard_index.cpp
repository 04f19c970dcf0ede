#include "data/files/shard_index.h"

#include <fmt/format.h>

#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "core/hash.h"
#include "core/text/as_text.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct ShardHeader {
  std::uint64_t samples;
  std::uint64_t classes;
  std::uint64_t name_bytes;
};

// ShardHeader and the entries are stored in the file as they are in memory.
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(ShardHeader) == 24 && sizeof(ShardIndex::Entry) == 32);

constexpr std::string_view shard_magic = "lockstep-images\1";
constexpr std::size_t shard_header_bytes = shard_magic.size() + sizeof(ShardHeader);
constexpr std::size_t shard_digest_bytes = sizeof(ShardIndex::digest);

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  const std::size_t size = bytes.size();
  bytes.resize(size + more.size());
  std::ranges::copy(more, bytes.begin() + static_cast<std::ptrdiff_t>(size));
}

/// Checksum at the end of a file.
std::array<std::uint64_t, 2> read_digest(std::span<const std::byte> file) {
  std::array<std::uint64_t, 2> digest{};
  std::ranges::copy(file.last(sizeof(digest)), std::as_writable_bytes(std::span(digest)).begin());
  return digest;
}

/// Reads the header, and checks everything except the entries and names.
ShardHeader check_shard_header(std::span<const std::byte> file, const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Category::data, fmt::format("{}: {}", name, what));
  };
  const std::string_view version = shard_magic.substr(0, shard_magic.size() - 1);
  if (file.size() < shard_header_bytes + shard_digest_bytes || !as_text(file).starts_with(version)) {
    refuse("is not an index of packed images");
  }
  if (!as_text(file).starts_with(shard_magic)) {
    refuse(fmt::format("packed by another version of lockstep (format {}, this one reads 1): pack again",
                       std::to_integer<int>(file[shard_magic.size() - 1])));
  }
  ShardHeader header{};
  std::ranges::copy(file.subspan(shard_magic.size(), sizeof(header)),
                    std::as_writable_bytes(std::span(&header, 1)).begin());
  const std::uint64_t body = file.size() - shard_header_bytes - shard_digest_bytes;
  if (header.samples > body / sizeof(ShardIndex::Entry) ||
      header.name_bytes != body - header.samples * sizeof(ShardIndex::Entry)) {
    refuse(fmt::format("header promises {} samples and {} bytes of names, file holds {} bytes",
                       header.samples, header.name_bytes, file.size()));
  }
  if (Digest(file.first(file.size() - shard_digest_bytes)).words() != read_digest(file)) {
    refuse("its checksum is wrong: the file is damaged");
  }
  return header;
}

}  // namespace

ShardIndex parse_shard_index(std::span<const std::byte> file, const std::string& name) {
  const ShardHeader header = check_shard_header(file, name);
  ShardIndex index;
  index.digest = read_digest(file);
  index.entries.resize(header.samples);
  const auto entry_bytes = std::as_writable_bytes(std::span(index.entries));
  std::ranges::copy(file.subspan(shard_header_bytes, entry_bytes.size()), entry_bytes.begin());
  std::uint64_t sample_name_bytes = 0;
  for (const ShardIndex::Entry& entry : index.entries) {
    sample_name_bytes += entry.name_length;
    if (entry.label >= header.classes) {
      throw Error(Category::data, fmt::format("{}: class {} is out of range: {}", name, entry.label,
                                              counted(header.classes, "class")));
    }
  }
  const std::string_view names =
      as_text(file.subspan(shard_header_bytes + entry_bytes.size(), header.name_bytes));
  if (sample_name_bytes > names.size()) {
    throw Error(Category::data, fmt::format("{}: the samples' names have {} bytes, but all names have {}",
                                            name, sample_name_bytes, names.size()));
  }
  index.sample_names = names.substr(0, sample_name_bytes);
  index.classes = split(names.substr(sample_name_bytes), '\n');
  if (!index.classes.back().empty() || index.classes.size() - 1 != header.classes) {
    throw Error(Category::data, fmt::format("{}: the header promises names of {} classes, which are missing",
                                            name, header.classes));
  }
  index.classes.pop_back();  // empty, after the last line end
  return index;
}

std::vector<std::byte> serialize(const ShardIndex& index) {
  std::string names = index.sample_names;
  for (const std::string& name : index.classes) {
    names += name + "\n";
  }
  const ShardHeader header{index.entries.size(), index.classes.size(), names.size()};
  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span(shard_magic)));
  append(bytes, std::as_bytes(std::span(&header, 1)));
  append(bytes, std::as_bytes(std::span(index.entries)));
  append(bytes, std::as_bytes(std::span(names)));
  const std::array digest = Digest(bytes).words();
  append(bytes, std::as_bytes(std::span(digest)));
  return bytes;
}

std::uint64_t shard_checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string shard_name(const std::string& part, std::uint32_t number) {
  return fmt::format("{}-{:05}.shard", part, number);
}

}  // namespace lockstep
