#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/options/config_file.h"
#include "lockstep/error.h"

/// Any bytes either parse or throw Error; a parsed value is read back from the text of config_value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    for (const lockstep::ConfigEntry& entry : lockstep::parse_config(input, "fuzz")) {
      const std::string again = entry.name + " = " + lockstep::config_value(entry.value) + "\n";
      const auto entries = lockstep::parse_config(again, "again");
      if (entries.size() != 1 || entries[0].value != entry.value) std::abort();
    }
  } catch (const lockstep::Error&) {  // the only way to refuse
  }
  return 0;
}
