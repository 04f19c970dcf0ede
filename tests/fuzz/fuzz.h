#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string_view>

#include "core/text/as_text.h"
#include "lockstep/error.h"

/// Calls `read`. An error of `category` means that the input was rejected; any other error ends the fuzzer.
template <class Read>
void may_refuse(const Read& read, lockstep::Category category = lockstep::Category::data) {
  try {
    read();
  } catch (const lockstep::Error& error) {
    if (error.category() != category) std::terminate();
  }
}

/// A parser, fuzzed if the program is started with --parser=NAME. `read` may reject an input by throwing
/// Category::data.
struct Parser {
  Parser(std::string_view name, void (&read)(std::span<const std::byte> file));
};
