#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/random/philox.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "support/temporary_folder.h"

namespace lockstep::test {

/// Pseudorandom number in [0, 1), determined by the arguments.
inline float random_number(std::uint32_t parameter, std::uint64_t element) {
  const auto bits = philox(17, {parameter, static_cast<std::uint32_t>(element), 0, 0});
  return static_cast<float>(bits[0] >> 8) / 16777216.0F;
}

/// Random values for a parameter, different from its initial values, that keep activations near 1.
inline std::vector<float> random_values(const Parameter& parameter, std::size_t number) {
  float low = -0.25F, high = 0.25F;  // biases, running means
  if (parameter.name.ends_with("running_var") ||
      (parameter.shape.size() == 1 && parameter.name.ends_with("weight"))) {
    low = 0.5F, high = 1.5F;
  } else if (parameter.shape.size() > 1) {
    const auto fan_in = static_cast<float>(parameter.size()) / static_cast<float>(parameter.shape[0]);
    high = std::sqrt(3.0F / fan_in), low = -high;
  }
  std::vector<float> values(parameter.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = low + (high - low) * random_number(static_cast<std::uint32_t>(number), i);
  }
  return values;
}

/// Model file of a network in which parameter i has the values `values_of(parameter, i)`.
template <class ValuesOf>
ModelFile model_of(const Network& network, const ValuesOf& values_of) {
  const TemporaryFolder folder;
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : network.parameters()) {
    values.push_back(values_of(parameter, values.size()));
    tensors.push_back({parameter.name, parameter.shape, std::span<const float>(values.back())});
  }
  write_model_file(folder / "model", tensors, {});
  return ModelFile::read(folder / "model");
}

inline ModelFile random_model(const Network& network) { return model_of(network, random_values); }

}  // namespace lockstep::test
