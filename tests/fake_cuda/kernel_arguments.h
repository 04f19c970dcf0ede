#pragma once

#include <cxxabi.h>
#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Words of a kernel's arguments that may be addresses: a process's addresses are below 2^47 and above the
/// first pages.
inline std::vector<const void*> addresses_in(std::span<const std::byte> arguments) {
  std::vector<const void*> found;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= arguments.size(); at += alignof(void*)) {
    std::uint64_t word = 0;
    std::memcpy(&word, arguments.data() + at, sizeof word);
    if (word >= (1U << 16) && word < (std::uint64_t{1} << 47)) {
      found.push_back(std::bit_cast<const void*>(word));
    }
  }
  return found;
}

/// Demangled name of a kernel's type, or `name` itself if it is not mangled.
inline std::string readable(const char* name) {
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                         &std::free);
  return text ? text.get() : name;
}

/// Whether the process has memory at the address.
inline bool is_mapped(const void* address) {
  constexpr std::uintptr_t page = 4096;
  unsigned char resident = 0;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address) / page * page;
  return mincore(std::bit_cast<void*>(begin), 1, &resident) == 0;
}

}  // namespace lockstep
