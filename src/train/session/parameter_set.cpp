#include "train/session/parameter_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/hash.h"
#include "core/text/nearest.h"
#include "lockstep/error.h"

namespace lockstep {

namespace {

/// Suffix of the batch count that PyTorch stores for each batch norm. PyTorch uses the count only with
/// momentum None, which lockstep does not support.
constexpr std::string_view batch_count = ".num_batches_tracked";
constexpr std::string_view running_mean = ".running_mean";

/// Name of the batch count that belongs to a parameter; empty if there is none.
std::string batch_count_beside(const Parameter& parameter) {
  const std::string& name = parameter.name;
  return name.ends_with(running_mean) ? name.substr(0, name.size() - running_mean.size()).append(batch_count)
                                      : std::string();
}

bool holds(const ModelFile& file, const Parameter& parameter) {
  return std::ranges::any_of(file.tensors(), [&](const TensorInfo& tensor) {
    return tensor.name == parameter.name && holds_floats(tensor) && tensor.shape == parameter.shape;
  });
}

}  // namespace

std::vector<int> head_parameters(const Network& network) {
  const auto at = [&](int id) -> const Network::Layer& {
    return network.layers()[static_cast<std::size_t>(id)];
  };
  int layer = network.output_id();
  while (layer > 0 && at(layer).parameters.empty()) {
    layer = at(layer).inputs.front();
  }
  return layer > 0 ? at(layer).parameters : std::vector<int>{};
}

void ParameterSet::check_names(const ModelFile& file) const {
  std::vector<std::string> names;
  std::set<std::string> allowed;
  for (const Parameter& parameter : parameters_) {
    names.push_back(parameter.name);
    allowed.insert({parameter.name, batch_count_beside(parameter)});
  }
  const auto is_known = [&](const TensorInfo& tensor) { return allowed.contains(tensor.name); };
  const auto known = static_cast<std::size_t>(std::ranges::count_if(file.tensors(), is_known));
  if (2 * known < file.tensors().size()) {
    throw Error(
        Category::data,
        fmt::format("{}: parameters of another network: {} of the file's {} tensors have names that this one "
                    "knows",
                    file.origin(), known, file.tensors().size()));
  }
  for (const TensorInfo& tensor : file.tensors()) {
    if (!is_known(tensor)) {
      throw Error(Category::data,
                  fmt::format("{}: {}", file.origin(), unknown_name("parameter", tensor.name, names)));
    }
  }
}

void ParameterSet::load(const ModelFile& file, const LoadOptions& options, bool other_outputs) const {
  check_names(file);
  const std::vector<int> head = head_parameters(network_);
  const auto fits = [&](int id) { return holds(file, parameters_[static_cast<std::size_t>(id)]); };
  const bool reset = options.reset_head && (other_outputs || !std::ranges::all_of(head, fits));
  std::vector<std::span<const float>> found(parameters_.size());  // empty: the parameter keeps its values
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool of_head = std::ranges::find(head, static_cast<int>(i)) != head.end();
    if (of_head && reset) {
      continue;
    }
    try {
      found[i] = file.floats(parameters_[i].name, parameters_[i].shape);
    } catch (const Error& error) {
      const char* advice = of_head ? "; --reset-head reinitialises its layer" : "";
      throw Error(error.category(), std::string(error.what()) + advice);
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) std::ranges::copy(found[i], values(i).begin());
}

std::vector<NamedTensor> ParameterSet::tensors() const {
  static constexpr std::int64_t batches = 0;
  std::vector<NamedTensor> counts;  // before the floats, so that all data are aligned for their type
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (std::string count = batch_count_beside(parameter); !count.empty()) {
      counts.push_back({std::move(count), {}, std::span(&batches, 1)});
    }
    tensors.push_back({parameter.name, parameter.shape, std::span<const float>(values(i))});
  }
  counts.insert(counts.end(), tensors.begin(), tensors.end());
  return counts;
}

void ParameterSet::save(const std::string& file, std::map<std::string, std::string> metadata) const {
  metadata.insert({{"format", "pt"}, {"producer", "lockstep"}});
  write_model_file(file, tensors(), metadata);
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
