#pragma once

#include <string>

#include "lockstep/field.h"
#include "lockstep/models.h"

namespace lockstep {

struct ModelOptions {
  std::string name = "lenet";  ///< name for make_model

  bool operator==(const ModelOptions&) const = default;
};

/// Help text of --model, with the names of all models.
const char* model_help();

template <OptionsOf<ModelOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [name] = options;
  field(name, {.name = "model", .help = model_help(), .group = "Model", .check = check_model_name});
}

}  // namespace lockstep
