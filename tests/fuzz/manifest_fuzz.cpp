#include <fmt/format.h>

#include <string>

#include "core/hash.h"
#include "fuzz.h"
#include "run/checkpoint/manifest.h"

namespace {

/// The input is a MANIFEST, and one without its last line, which is added here. What is accepted is written
/// back to the same text.
void read_input(std::span<const std::byte> file) {
  const std::string text(text_of(file));
  lockstep::Digest digest;
  digest.update(file);
  for (const std::string& manifest : {text, fmt::format("{}MANIFEST xxh3:{}\n", text, digest.hex())}) {
    may_refuse([&] {
      if (manifest_text(lockstep::parse_manifest(manifest, "file")) != manifest) __builtin_trap();
    });
  }
}

const Parser manifest("manifest", read_input);

}  // namespace
