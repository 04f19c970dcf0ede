#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "lockstep/field.h"
#include "lockstep/models.h"

namespace lockstep {

struct ModelOptions {
  std::string name = "lenet";  ///< name for make_model

  bool operator==(const ModelOptions&) const = default;
};

/// Help text of --model, with the names of all models.
inline const char* model_help() {
  static const std::string text =
      fmt::format("network: {}; mlp with other widths, such as mlp:256,128; or a network file, FILE.json",
                  fmt::join(model_names(), ", "));
  return text.c_str();
}

template <OptionsOf<ModelOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [name] = options;
  field(name, {.name = "model",
               .help = model_help(),
               .group = "Model",
               .suggested = model_names,
               .check = check_model_name});
}

}  // namespace lockstep
