#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/network.h"
#include "onnx/import.h"
#include "onnx/protobuf/onnx_node.h"

namespace lockstep {

/// A layer of an ONNX model that is not part of a network yet. Later nodes may still complete the layer, for
/// example with a bias that the model adds in a separate node.
struct ImportedLayer {
  Operation operation;
  std::vector<int> inputs;
  std::string name;  ///< prefix of the parameters' names; empty if the model does not name them
  Shape shape{};
  /// Values of the parameters, in their order; empty unless weights are read.
  std::vector<std::vector<float>> values{};
  std::array<bool, 2> given{};  ///< group norm: whether the model has a weight, and a bias
  /// Number of nodes that read the layer's result under any of its names in the model. Nodes that only rename
  /// the result do not count.
  int readers = 1;
};

/// Layers of a network under construction; the first is the input.
class ImportedLayers {
 public:
  explicit ImportedLayers(Shape input) { layers_.push_back({Input{}, {}, {}, input}); }

  /// Shape of an operation's result. Throws Error(data) naming `node` if options and inputs do not fit.
  static Shape infer_shape(const OnnxNode& node, const Operation& operation,
                           const std::vector<Shape>& inputs);

  /// Adds a layer, and sets its shape with infer_shape. Returns the layer's position.
  int add(const OnnxNode& node, ImportedLayer layer);

  ImportedLayer& operator[](int layer) { return layers_[static_cast<std::size_t>(layer)]; }
  const Shape& shape(int layer) const { return layers_[static_cast<std::size_t>(layer)].shape; }

  /// Builds the network whose logits are the result of layer `output`. Leaves out layers on which `output`
  /// does not depend, because the model reads only their shape. Layers with parameters but without a name get
  /// a unique name. Writes network, weights and notes to `result`.
  void build(int output, bool with_weights, OnnxImport& result);

 private:
  void remove_all_but_sources_of(int output);
  void complete_names(OnnxImport& result);
  void choose_initializers(OnnxImport& result);
  std::vector<Parameter> parameters(const ImportedLayer& layer) const;

  std::vector<ImportedLayer> layers_;
};

}  // namespace lockstep
