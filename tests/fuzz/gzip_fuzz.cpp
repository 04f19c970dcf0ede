#include <vector>

#include "data/files/gzip.h"
#include "fuzz.h"

namespace {

/// Data must be rejected or decompressed, into memory of the size in the trailer and into less. The sanitizer
/// detects writes beyond the memory.
void read_input(std::span<const std::byte> file) {
  if (file.size() < 4) return;
  const std::size_t promised = lockstep::gzip_size(file.size(), file.last<4>(), "file");
  for (const std::size_t bytes : {promised, promised / 2}) {
    std::vector<std::byte> memory(bytes);
    lockstep::gunzip(file, memory, "file");
  }
}

const Parser gzip("gzip", read_input);

}  // namespace
