#include <cstdlib>
#include <string>

#include "cli/options/config_file.h"
#include "fuzz.h"

namespace {

/// A parsed value must survive a round trip through config_value.
void read_input(std::span<const std::byte> file) {
  may_refuse(
      [&] {
        for (const lockstep::ConfigEntry& entry : lockstep::parse_config(lockstep::as_text(file), "fuzz")) {
          const std::string again = entry.name + " = " + lockstep::config_value(entry.value) + "\n";
          const auto entries = lockstep::parse_config(again, "again");
          if (entries.size() != 1 || entries[0].value != entry.value) std::abort();
        }
      },
      lockstep::Category::usage);
}

const Parser config("config", read_input);

}  // namespace
