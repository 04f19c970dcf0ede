#include "train/parameter_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.h"
#include "core/nearest.h"
#include "lockstep/error.h"

namespace lockstep {

void ParameterSet::load(const ModelFile& file) const {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters_) {
    names.push_back(parameter.name);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    if (std::find(names.begin(), names.end(), tensor.name) == names.end()) {
      throw Error(Category::data,
                  fmt::format("{}: {}", file.origin(), unknown_name("parameter", tensor.name, names)));
    }
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto stored = file.floats(parameters_[i].name, parameters_[i].shape);
    std::copy(stored.begin(), stored.end(), values(i).begin());
  }
}

void ParameterSet::save(const std::string& file, std::map<std::string, std::string> metadata) const {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    tensors.push_back({parameters_[i].name, parameters_[i].shape, values(i)});
  }
  metadata.insert({{"format", "pt"}, {"producer", "lockstep"}});
  write_model_file(file, tensors, metadata);
}

std::string digest_of(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                      std::span<const float> arena) {
  Digest hash;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    hash.update(arena.subspan(layout.offsets[i], parameters[i].size()));
  }
  return "xxh3:" + hash.hex();
}

}  // namespace lockstep
