#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

/// Attribute of an ONNX node.
using OnnxAttribute = std::pair<const char*, std::variant<std::int64_t, float, std::vector<std::int64_t>>>;

/// Adds nodes and constants to an ONNX graph, and gives tensors unique names.
class GraphWriter {
 public:
  /// `output`: name of the graph's output; no other tensor gets this name.
  GraphWriter(onnx::GraphProto& graph, std::string output)
      : graph_(graph), output_(std::move(output)), names_{output_} {}

  /// Adds a node with one output. Returns the name of the output, which is `name` unless this name is taken.
  std::string add(const char* op, const std::string& name, const std::vector<std::string>& inputs,
                  const std::vector<OnnxAttribute>& attributes = {});

  /// Adds an initializer. Returns its name.
  std::string constant(const std::string& name, const std::vector<std::int64_t>& shape,
                       std::span<const float> values);
  std::string constant(const std::string& name, std::span<const std::int64_t> values);
  std::string scalar(const std::string& name, float value) { return constant(name, {}, {&value, 1}); }

  /// Declares the graph's only input, of shape [batch, shape...].
  void input(const std::string& name, onnx::TensorProto::DataType type, std::span<const std::int64_t> shape);
  /// Declares the tensor `from` as the graph's only output, of shape [batch, shape...], and renames it.
  void output(const std::string& from, std::span<const std::int64_t> shape);

 private:
  std::string unique(const std::string& name);
  onnx::TensorProto& initializer(const std::string& name, std::span<const std::int64_t> shape,
                                 onnx::TensorProto::DataType type, std::span<const std::byte> bytes);

  onnx::GraphProto& graph_;
  std::string output_;
  std::set<std::string> names_;
};

}  // namespace lockstep
