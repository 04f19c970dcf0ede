#include "cli/model/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

const char* model_help() {
  static const std::string text =
      fmt::format("network: {}; mlp with other widths, such as mlp:256,128; or a network file, FILE.json",
                  fmt::join(model_names(), ", "));
  return text.c_str();
}

}  // namespace lockstep
