#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Reads the message of an ONNX file. Throws Error(data) if the file is not a model with nodes, and the
/// errors of InputFile.
onnx::ModelProto read_onnx_model(const std::filesystem::path& file);
/// Same for the contents `bytes` of a file, less than 2 GiB.
onnx::ModelProto parse_onnx_model(std::span<const std::byte> bytes, const std::filesystem::path& file);

/// Reads the values of tensors of an ONNX file; values may also be in other files of its folder. Throws
/// Error(data) naming file, tensor and reason.
class TensorReader {
 public:
  explicit TensorReader(std::filesystem::path file) : file_(std::move(file)) {}

  /// Extents of a tensor. Refuses a tensor with too many values.
  std::vector<std::int64_t> shape(const onnx::TensorProto& tensor) const;
  std::vector<float> floats(const onnx::TensorProto& tensor) const;
  std::vector<std::int64_t> integers(const onnx::TensorProto& tensor) const;

 private:
  [[noreturn]] void refuse(const onnx::TensorProto& tensor, const std::string& reason) const;
  std::size_t count_values(const onnx::TensorProto& tensor) const;
  /// `field`: the tensor's values, or empty if they are raw data or in another file.
  template <class Value, class Field>
  std::vector<Value> values_of(const onnx::TensorProto& tensor, const Field& field) const;
  template <class Value>
  std::vector<Value> external_values(const onnx::TensorProto& tensor) const;

  std::filesystem::path file_;
};

}  // namespace lockstep
