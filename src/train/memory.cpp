#include "train/memory.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "lockstep/error.h"

namespace lockstep {
namespace {

/// MemAvailable of /proc/meminfo in bytes; the largest number where it cannot be read.
std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  for (std::size_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") {
      return kilobytes * 1024;
    }
  }
  return static_cast<std::size_t>(-1);
}

}  // namespace

void check_memory(std::size_t bytes, int ranks, const char* purpose) {
  const std::size_t available = available_memory();
  if (bytes > available / static_cast<std::size_t>(ranks)) {
    throw Error(
        Category::resource,
        fmt::format(
            "not enough memory for the {}: {} MB wanted by each of the host's {} ranks, {} MB available",
            purpose, bytes >> 20, ranks, available >> 20));
  }
}

}  // namespace lockstep
