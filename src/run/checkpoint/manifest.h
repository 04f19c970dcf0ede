#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A file of a checkpoint, as MANIFEST describes it.
struct ManifestEntry {
  std::string name;  ///< letters, digits, '.', '-' and '_'; not beginning with '.'
  std::uint64_t size = 0;
  std::string hash;  ///< Digest::hex() of the file's bytes

  bool operator==(const ManifestEntry&) const = default;
};

/// Contents of MANIFEST: files in order, with unique names.
using Manifest = std::vector<ManifestEntry>;

/// Text of MANIFEST: a line "lockstep checkpoint 1"; a line "NAME SIZE xxh3:HASH" per file; and a line
/// "MANIFEST xxh3:HASH" with the hash of all lines before it.
std::string manifest_text(const Manifest& manifest);

/// Parses what manifest_text returned; accepts nothing else. Throws Error(data) with `origin`, line and
/// reason, and NewerFormat if the first line names a later format and is not ours with one flipped bit.
Manifest parse_manifest(std::string_view text, const std::string& origin);

}  // namespace lockstep
