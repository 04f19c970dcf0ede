#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "checkpoint/manifest.h"
#include "core/hash.h"
#include "lockstep/error.h"

namespace {

/// What is accepted is written back to the same text.
void check(const std::string& text) {
  try {
    if (manifest_text(lockstep::parse_manifest(text, "file")) != text) {
      __builtin_trap();
    }
  } catch (const lockstep::Error& error) {
    if (error.category() != lockstep::Category::data) {
      throw;
    }
  }
}

}  // namespace

/// The input is a MANIFEST, and one without its last line, which is added here.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  lockstep::Digest digest;
  digest.update(std::as_bytes(std::span(text)));
  check(fmt::format("{}MANIFEST xxh3:{}\n", text, digest.hex()));
  return 0;
}
