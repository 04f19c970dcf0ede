#include "fuzz.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

using Read = void(std::span<const std::byte>);

static std::map<std::string_view, Read*>& parsers() {
  static std::map<std::string_view, Read*> all;
  return all;
}

static Read* fuzzed = nullptr;

Parser::Parser(std::string_view name, Read& read) { parsers().emplace(name, &read); }

/// --parser=NAME selects a parser; --parsers lists all parsers. libFuzzer ignores options that begin with two
/// hyphens.
extern "C" int LLVMFuzzerInitialize(const int* argc, char*** argv) {
  static constexpr std::string_view option = "--parser=";
  for (const std::string_view argument : std::span(*argv, *argc)) {
    if (argument == "--parsers") {
      for (const auto& [name, read] : parsers())
        std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
      std::exit(0);
    }
    if (!argument.starts_with(option)) continue;
    const auto found = parsers().find(argument.substr(option.size()));
    if (found != parsers().end()) fuzzed = found->second;
  }
  if (fuzzed == nullptr) {
    std::fputs("--parser=NAME is missing or unknown; --parsers lists the names\n", stderr);
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  may_refuse([&] { fuzzed(std::as_bytes(std::span(data, size))); });
  return 0;
}
