#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "onnx/protobuf/model_reader.h"

namespace lockstep {

/// Result of a layer: [batch, channels, rows, columns] or, if flat, [batch, channels].
struct LayerOutput {
  int layer = 0;
  bool flat = false;

  bool operator==(const LayerOutput&) const = default;
};
/// Weights, or other numbers that the model contains.
struct Constant {
  const onnx::TensorProto* tensor;
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t transposed_rows = 0;  ///< rows of `tensor` if the constant is its transpose; 0: it is not
};
/// Constant whose elements all have the same value.
struct Filled {
  double value;
  std::vector<std::int64_t> shape;
};
/// A few whole numbers, such as a shape.
struct Sizes {
  std::vector<std::int64_t> values;
};
/// Result of a node that forms an operation only together with later nodes.
struct OperationPart {
  enum class Kind {
    scaled,        ///< x * factor
    sigmoid,       ///< sigmoid(x)
    erf,           ///< erf(x / sqrt(2))
    erf_plus_one,  ///< 1 + erf(x / sqrt(2))
    twice_gelu,    ///< x (1 + erf(x / sqrt(2)))
    grouped,       ///< x as [batch, factor groups, values]
    normalized,    ///< same, each group normalized
    padded,        ///< x with `factor` zeros on each side
    narrowed,      ///< x with columns averaged to `factor` columns, by an adaptive pooling
  } kind;
  LayerOutput of;
  std::string node;  ///< label of the node
  double factor = 1.0;
  double eps = 0.0;
};
/// A tensor of an ONNX graph during the import.
using GraphTensor = std::variant<LayerOutput, Constant, Filled, Sizes, OperationPart>;

/// A node of an ONNX graph, with its inputs and attributes. Methods throw Error(data) naming file and node.
class OnnxNode {
 public:
  /// Tensors by name: constants and input of the model, and results of earlier nodes.
  using Tensors = std::map<std::string, GraphTensor>;

  static constexpr const char* needs_matrix = "is supported for [batch, values] and a matrix only";

  /// All arguments must outlive this object.
  OnnxNode(const std::string& file, const onnx::NodeProto& proto, const Tensors& tensors,
           const TensorReader& reader)
      : file_(file), proto_(proto), tensors_(tensors), reader_(reader) {}

  const std::string& op() const { return proto_.op_type(); }
  /// "node 'layer1.conv' (Conv)"; a node without a name is named after its first output.
  std::string label() const;
  [[noreturn]] void refuse(const std::string& reason) const;
  /// Refuses the node whose result is `part`.
  [[noreturn]] void refuse_part(const OperationPart& part) const;

  /// Name of an input, which must exist, and of the output.
  const std::string& input(std::size_t number) const;
  const std::string& output() const { return proto_.output(0); }

  // Inputs. Methods that do not return a pointer or an optional refuse inputs of the wrong kind.

  std::size_t inputs() const { return static_cast<std::size_t>(proto_.input_size()); }
  bool has_input(std::size_t number) const { return number < inputs() && !input_or_empty(number).empty(); }
  const GraphTensor& tensor(std::size_t number) const;
  /// The input if it is a T, else null.
  template <class T>
  const T* input_as(std::size_t number) const {
    return std::get_if<T>(&tensor(number));
  }
  /// The input if it is a part of an operation of this kind, else null.
  const OperationPart* find_part(std::size_t number, OperationPart::Kind kind) const;
  LayerOutput layer_output(std::size_t number = 0) const;
  /// The first input, which must be a layer's result that is not flat.
  LayerOutput image() const;
  const Constant& constant(std::size_t number) const;
  const std::vector<std::int64_t>& sizes(std::size_t number) const;
  /// Value of an input that is a single constant number; nullopt for other inputs.
  std::optional<double> find_number(std::size_t number) const;
  double number(std::size_t input) const;
  double number_or_attribute(const char* attribute, std::size_t input, float fallback) const {
    return has_input(input) ? number(input) : real(attribute, fallback);
  }
  /// Axes from the attribute or, in later opsets, the second input.
  std::vector<std::int64_t> axes() const { return has_input(1) ? sizes(1) : integers("axes", {}); }

  // Attributes.

  bool has(const char* attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(const char* attribute, std::int64_t fallback) const;
  float real(const char* attribute, float fallback) const;
  std::string text(const char* attribute, const char* fallback) const;
  std::vector<std::int64_t> integers(const char* attribute, std::vector<std::int64_t> fallback) const;
  const onnx::TensorProto* tensor_attribute(const char* attribute) const;
  /// Returns `value` as an option of a layer. Refuses a value that is not from 0 to max_window.
  int option(const char* what, std::int64_t value) const;
  /// Value of an attribute with `count` entries, which must all be equal.
  int common_option(const char* attribute, std::size_t count, std::int64_t fallback) const;

 private:
  const std::string& input_or_empty(std::size_t number) const {
    return proto_.input(static_cast<int>(number));
  }
  const onnx::AttributeProto* find(const char* attribute) const;

  const std::string& file_;
  const onnx::NodeProto& proto_;
  const Tensors& tensors_;
  const TensorReader& reader_;
};

}  // namespace lockstep
