#include "run/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/hash.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"

namespace lockstep {
namespace {

constexpr std::string_view first_line = "lockstep checkpoint 1\n";
constexpr std::string_view first_words = first_line.substr(0, first_line.size() - 2);
constexpr std::uint64_t known_format = first_line[first_words.size()] - '0';
constexpr std::string_view hash_prefix = "xxh3:";
constexpr std::size_t hash_digits = 32;

std::string line_of(const ManifestEntry& entry) {
  return fmt::format("{} {} {}{}\n", entry.name, entry.size, hash_prefix, entry.hash);
}

/// Last line of MANIFEST: the hash of the lines before it.
std::string closing_line(std::string_view lines) {
  return fmt::format("MANIFEST {}{}\n", hash_prefix, Digest(lines).hex());
}

/// Whether the last line contains the hash of the lines before it.
bool is_closed(std::string_view text) {
  if (!text.ends_with('\n')) return false;
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  return text.substr(last) == closing_line(text.substr(0, last));
}

/// Format that the first line names, if it is a later version's; else 0.
std::uint64_t newer_format(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n') + 1);
  const std::string_view digits = middle_of(line, first_words, "\n");
  const std::uint64_t format = whole_number<std::uint64_t>(digits).value_or(0);
  if (format <= known_format) return 0;
  // One flipped bit in our own digit is damage, not a later format: the hash covers the first line, so it
  // detects this.
  const bool one_bit = digits.size() == 1 && std::popcount(static_cast<unsigned>(digits[0] ^ '1')) == 1;
  return one_bit && is_closed(fmt::format("{}{}", first_line, text.substr(line.size()))) ? 0 : format;
}

bool is_file_name(std::string_view name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && !name.starts_with('.') && name.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_hash(std::string_view text) {
  return text.size() == hash_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Parses a line without its line feed. The line is valid only if it equals line_of() of the result.
ManifestEntry parse_line(std::string_view line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() != 3) return {};
  return {.name = words[0],
          .size = whole_number<std::uint64_t>(words[1]).value_or(0),
          .hash = std::string(middle_of(words[2], hash_prefix, ""))};
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  std::string text(first_line);
  for (const ManifestEntry& entry : manifest) text += line_of(entry);
  return text + closing_line(text);
}

Manifest parse_manifest(std::string_view text, const std::string& origin) {
  const auto fail = [&](const std::string& reason) { refuse_file(origin, reason); };
  if (const std::uint64_t format = newer_format(text); format > 0) {
    throw NewerFormat(origin, format, known_format);
  }
  if (!text.starts_with(first_line)) {
    fail("does not begin with 'lockstep checkpoint 1', the format that this version of lockstep reads");
  }
  if (!text.ends_with('\n')) fail("is cut off in its last line");
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  if (!is_closed(text)) {
    fail("is damaged: the hash of its lines is not the one in the last line");
  }
  Manifest manifest;
  std::size_t begin = first_line.size();
  for (int number = 2; begin < last; ++number) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    const ManifestEntry entry = parse_line(line);
    if (!is_file_name(entry.name) || !is_hash(entry.hash) || line_of(entry) != fmt::format("{}\n", line)) {
      fail(fmt::format("line {}: '{}' is not 'NAME SIZE xxh3:HASH'", number, printable(line)));
    }
    if (std::ranges::any_of(manifest, [&](const ManifestEntry& other) { return other.name == entry.name; })) {
      fail(fmt::format("line {}: '{}' occurs twice", number, entry.name));
    }
    manifest.push_back(entry);
    begin = end + 1;
  }
  return manifest;
}

}  // namespace lockstep
