#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "lockstep/error.h"

/// Calls `read`. An error of `category` refuses the input; others end the fuzzer.
template <class Read>
void may_refuse(const Read& read, lockstep::Category category = lockstep::Category::data) {
  try {
    read();
  } catch (const lockstep::Error& error) {
    if (error.category() != category) std::terminate();
  }
}

/// Reads an input. Each fuzzer defines it.
void read_input(std::span<const std::byte> file);

inline std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse([&] { read_input(std::as_bytes(std::span(data, size))); });
  return 0;
}
