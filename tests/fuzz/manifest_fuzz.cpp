#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/hash.h"
#include "may_refuse.h"
#include "run/checkpoint/manifest.h"

/// The input is a MANIFEST, and one without its last line, which is added here. What is accepted is written
/// back to the same text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  lockstep::Digest digest;
  digest.update(std::as_bytes(std::span(text)));
  for (const std::string& manifest : {text, fmt::format("{}MANIFEST xxh3:{}\n", text, digest.hex())}) {
    may_refuse([&] {
      if (manifest_text(lockstep::parse_manifest(manifest, "file")) != manifest) __builtin_trap();
    });
  }
  return 0;
}
