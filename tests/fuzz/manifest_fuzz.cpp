#include <fmt/format.h>

#include <string>

#include "core/hash.h"
#include "fuzz.h"
#include "run/checkpoint/manifest.h"

namespace {

/// The input is tried as a MANIFEST and as a MANIFEST without its last line, which is added here. An accepted
/// MANIFEST must be written back as the same text.
void read_input(std::span<const std::byte> file) {
  const std::string text(lockstep::as_text(file));
  const std::string digest = lockstep::Digest(file).hex();
  for (const std::string& manifest : {text, fmt::format("{}MANIFEST xxh3:{}\n", text, digest)}) {
    may_refuse([&] {
      if (manifest_text(lockstep::parse_manifest(manifest, "file")) != manifest) __builtin_trap();
    });
  }
}

const Parser manifest("manifest", read_input);

}  // namespace
