#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/files/gzip.h"
#include "may_refuse.h"

/// Data are decompressed into memory of the size in the trailer, and into less, or refused; the sanitizer
/// detects writes beyond it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  if (size < 4) return 0;
  return may_refuse([&] {
    const std::size_t promised = lockstep::gzip_size(size, file.last<4>(), "file");
    for (const std::size_t bytes : {promised, promised / 2}) {
      std::vector<std::byte> memory(bytes);
      lockstep::gunzip(file, memory, "file");
    }
  });
}
