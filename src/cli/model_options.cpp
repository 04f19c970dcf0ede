#include "cli/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

const char* model_help() {
  static const std::string text =
      fmt::format("network: {}; mlp:256,128 for other widths; or FILE.json, which describes one",
                  fmt::join(model_names(), ", "));
  return text.c_str();
}

}  // namespace lockstep
