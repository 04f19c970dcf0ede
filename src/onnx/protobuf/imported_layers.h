#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/network.h"
#include "onnx/import.h"
#include "onnx/protobuf/onnx_node.h"

namespace lockstep {

/// A layer that was read, before it becomes one of a network. Later nodes may still complete it: a bias that
/// the model adds in a node of its own, for example.
struct ImportedLayer {
  Operation operation;
  std::vector<int> inputs;
  std::string name;  ///< of its parameters; empty: the model does not name them
  Shape shape{};
  /// Values of the parameters, in their order; empty unless weights are read.
  std::vector<std::vector<float>> values{};
  std::array<bool, 2> given{};  ///< group norm: whether constants are its weight, its bias
  /// Number of nodes that read its result, by any of the names that the model has for it. Nodes that only
  /// give it another name do not count.
  int readers = 1;
};

/// Layers of a network under construction; the first is the input.
class ImportedLayers {
 public:
  explicit ImportedLayers(Shape input) { layers_.push_back({Input{}, {}, {}, input}); }

  /// Shape of an operation's result. `node` refuses what does not fit.
  static Shape infer_shape(const OnnxNode& node, const Operation& operation,
                           const std::vector<Shape>& inputs);

  /// Adds a layer, and infers its shape as infer_shape does. Returns the layer's position.
  int add(const OnnxNode& node, ImportedLayer layer);

  ImportedLayer& operator[](int layer) { return layers_[static_cast<std::size_t>(layer)]; }
  const Shape& shape(int layer) const { return layers_[static_cast<std::size_t>(layer)].shape; }

  /// The network whose logits are those of layer `output`, of the layers on which they depend: of others, the
  /// model reads the shape only. Layers with parameters but without a name get one that no other layer has.
  /// `result` receives network, weights and notes.
  void build(int output, bool with_weights, OnnxImport& result);

 private:
  void remove_all_but_sources_of(int output);
  void complete_names(OnnxImport& result);
  void choose_initializers(OnnxImport& result);
  std::vector<Parameter> parameters(const ImportedLayer& layer) const;

  std::vector<ImportedLayer> layers_;
};

}  // namespace lockstep
