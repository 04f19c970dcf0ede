#include "data/files/shard_index.h"

#include <fmt/format.h>

#include <xxhash.h>

#include <optional>
#include <utility>

#include "core/as_text.h"
#include "core/hash.h"
#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::string_view shard_magic = "lockstep-images\1";
constexpr std::size_t shard_header_bytes = 16 + 3 * 8;
constexpr std::size_t shard_entry_bytes = 32;
constexpr std::size_t shard_digest_bytes = 16;

template <class Number>
void put_number(std::vector<std::byte>& bytes, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
  }
}

template <class Number>
Number take_number(std::span<const std::byte>& bytes) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= std::to_integer<Number>(bytes[i]) << (8 * i);
  }
  bytes = bytes.subspan(sizeof(Number));
  return value;
}

void put_text(std::vector<std::byte>& bytes, std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

struct ShardHeader {
  std::uint64_t samples;
  std::uint64_t classes;
  std::uint64_t name_bytes;
};

/// Checks everything that does not need the entries.
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
  auto rest = file.subspan(shard_magic.size());
  ShardHeader header{};
  header.samples = take_number<std::uint64_t>(rest);
  header.classes = take_number<std::uint64_t>(rest);
  header.name_bytes = take_number<std::uint64_t>(rest);
  const std::uint64_t body = file.size() - shard_header_bytes - shard_digest_bytes;
  if (header.samples > body / shard_entry_bytes ||
      header.name_bytes != body - header.samples * shard_entry_bytes) {
    refuse(fmt::format("header promises {} samples and {} bytes of names, file holds {} bytes",
                       header.samples, header.name_bytes, file.size()));
  }
  auto end = file.last(shard_digest_bytes);
  const auto low = take_number<std::uint64_t>(end);
  const auto high = take_number<std::uint64_t>(end);
  if (Digest(file.first(file.size() - shard_digest_bytes)).words() != std::array{low, high}) {
    refuse("its checksum is wrong: the file is damaged");
  }
  return header;
}

/// Lines of `text`; none: the last line has no end.
std::optional<std::vector<std::string>> lines_of(std::string_view text) {
  if (!text.empty() && text.back() != '\n') {
    return std::nullopt;
  }
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

ShardIndex parse_shard_index(std::span<const std::byte> file, const std::string& name) {
  const ShardHeader header = check_shard_header(file, name);
  auto rest = file.subspan(shard_header_bytes);
  ShardIndex index;
  auto end = file.last(shard_digest_bytes);
  for (std::uint64_t& word : index.digest) word = take_number<std::uint64_t>(end);
  index.entries.resize(header.samples);
  std::uint64_t sample_name_bytes = 0;
  for (ShardIndex::Entry& entry : index.entries) {
    entry.offset = take_number<std::uint64_t>(rest);
    entry.checksum = take_number<std::uint64_t>(rest);
    entry.length = take_number<std::uint32_t>(rest);
    entry.shard = take_number<std::uint32_t>(rest);
    entry.label = take_number<std::uint32_t>(rest);
    entry.name_length = take_number<std::uint32_t>(rest);
    sample_name_bytes += entry.name_length;
    if (entry.label >= header.classes) {
      throw Error(Category::data, fmt::format("{}: class {} is out of range: {}", name, entry.label,
                                              counted(header.classes, "class")));
    }
  }
  const std::string_view names = as_text(rest.first(header.name_bytes));
  if (sample_name_bytes > names.size()) {
    throw Error(Category::data, fmt::format("{}: the samples' names have {} bytes, but all names have {}",
                                            name, sample_name_bytes, names.size()));
  }
  index.sample_names = names.substr(0, sample_name_bytes);
  auto classes = lines_of(names.substr(sample_name_bytes));
  if (!classes || classes->size() != header.classes) {
    throw Error(Category::data, fmt::format("{}: the header promises names of {} classes, which are missing",
                                            name, header.classes));
  }
  index.classes = std::move(*classes);
  return index;
}

std::vector<std::byte> serialize(const ShardIndex& index) {
  std::vector<std::byte> bytes;
  put_text(bytes, shard_magic);
  std::string names = index.sample_names;
  for (const std::string& name : index.classes) {
    names += name + "\n";
  }
  put_number<std::uint64_t>(bytes, index.entries.size());
  put_number<std::uint64_t>(bytes, index.classes.size());
  put_number<std::uint64_t>(bytes, names.size());
  for (const ShardIndex::Entry& entry : index.entries) {
    put_number(bytes, entry.offset);
    put_number(bytes, entry.checksum);
    put_number(bytes, entry.length);
    put_number(bytes, entry.shard);
    put_number(bytes, entry.label);
    put_number(bytes, entry.name_length);
  }
  put_text(bytes, names);
  for (const std::uint64_t word : Digest(bytes).words()) {
    put_number(bytes, word);
  }
  return bytes;
}

std::uint64_t shard_checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string shard_name(const std::string& part, std::uint32_t number) {
  return fmt::format("{}-{:05}.shard", part, number);
}

}  // namespace lockstep
