#include <algorithm>

#include "data/files/tar_index.h"
#include "fuzz.h"

namespace {

/// The files of an accepted archive must lie inside it, one after the other.
void read_input(std::span<const std::byte> file) {
  const auto entries =
      lockstep::list_tar({.name = "t", .size = file.size(), .read = [&](auto at, auto bytes) {
                            if (at > file.size() || bytes.size() > file.size() - at) std::terminate();
                            std::ranges::copy(file.subspan(at, bytes.size()), bytes.begin());
                          }});
  std::uint64_t end = 0;
  for (const lockstep::TarEntry& entry : entries) {
    if (!entry.is_file) continue;
    if (entry.offset < end || entry.size > file.size() || entry.offset > file.size() - entry.size)
      std::terminate();
    end = entry.offset + entry.size;
  }
}

const Parser tar("tar", read_input);

}  // namespace
