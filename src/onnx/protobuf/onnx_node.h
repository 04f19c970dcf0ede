#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// A node of an ONNX graph. Functions throw Error(data) with file and node.
class OnnxNode {
 public:
  /// `file` and `proto` must outlive the object.
  OnnxNode(const std::string& file, const onnx::NodeProto& proto) : file_(file), proto_(proto) {}

  const std::string& op() const { return proto_.op_type(); }
  /// "node 'layer1.conv' (Conv)"; a node without a name is called after its first output.
  std::string label() const;
  [[noreturn]] void refuse(const std::string& reason) const;

  std::size_t inputs() const { return static_cast<std::size_t>(proto_.input_size()); }
  bool has_input(std::size_t number) const { return number < inputs() && !input_or_empty(number).empty(); }
  /// Name of an input, which must be there.
  const std::string& input(std::size_t number) const;
  const std::string& output() const { return proto_.output(0); }

  bool has(const char* attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(const char* attribute, std::int64_t fallback) const;
  float real(const char* attribute, float fallback) const;
  std::string text(const char* attribute, const char* fallback) const;
  std::vector<std::int64_t> integers(const char* attribute, std::vector<std::int64_t> fallback) const;
  const onnx::TensorProto* tensor(const char* attribute) const;
  /// An option of a layer: `value`, which must be from 0 to the maximum of network files.
  int option(const char* what, std::int64_t value) const;
  /// Value that all entries of an attribute have, of which there must be `count`.
  int common_option(const char* attribute, std::size_t count, std::int64_t fallback) const;

 private:
  const std::string& input_or_empty(std::size_t number) const {
    return proto_.input(static_cast<int>(number));
  }
  const onnx::AttributeProto* find(const char* attribute) const;

  const std::string& file_;
  const onnx::NodeProto& proto_;
};

}  // namespace lockstep
