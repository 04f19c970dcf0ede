#include "core/message.h"

#include <cstdio>
#include <string>

#include "core/printable.h"

namespace lockstep {

void print_message(std::string_view text) {
  const std::string line = without_control_characters(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void print_warning(std::string_view text) {
  if (!text.empty()) print_message("lockstep: warning: " + std::string(text));
}

}  // namespace lockstep
