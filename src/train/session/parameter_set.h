#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lockstep/model_file.h"
#include "lockstep/training_options.h"

namespace lockstep {

/// Digest: "xxh3:" and the XXH3-128 of all values in the order of the network, little-endian, without the
/// gaps of the arena.
std::string digest_of(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                      std::span<const float> arena);

/// Numbers of the parameters of the layer that computes the logits or, if that layer has none, of the last
/// layer before it that has parameters.
std::vector<int> head_parameters(const Network& network);

/// The parameters of a network in one arena, by name. Does not own the arena.
class ParameterSet {
 public:
  ParameterSet(const Network& network, const ArenaLayout& layout, std::span<float> arena)
      : network_(network), parameters_(network.parameters()), layout_(layout), arena_(arena) {}

  /// Values of parameter `i`, without the gaps of the arena.
  std::span<float> values(std::size_t i) const {
    return arena_.subspan(layout_.offsets[i], parameters_[i].size());
  }

  /// Loads all parameters. Names and shapes must match exactly, except as `options` allow; PyTorch's
  /// num_batches_tracked is ignored. `other_outputs`: whether the last layer does not fit, even if its shape
  /// does. Throws Error(data) naming the first tensor that is missing, unknown or different; no value has
  /// changed then.
  void load(const ModelFile& file, const LoadOptions& options = {}, bool other_outputs = false) const;
  /// All parameters as tensors of a PyTorch state_dict, with a num_batches_tracked of 0 for each batch norm.
  /// The tensors are views of the arena.
  std::vector<NamedTensor> tensors() const;
  /// Saves tensors(). `metadata` is added to the entries "format" and "producer".
  void save(const std::string& file, std::map<std::string, std::string> metadata = {}) const;
  std::string digest() const { return digest_of(parameters_, layout_, arena_); }

 private:
  void check_names(const ModelFile& file) const;

  const Network& network_;
  const std::vector<Parameter>& parameters_;
  const ArenaLayout& layout_;
  std::span<float> arena_;
};

}  // namespace lockstep
