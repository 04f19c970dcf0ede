#include "onnx/protobuf/model_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>

#include "core/files/content.h"
#include "core/files/file.h"
#include "core/text/printable.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t max_message_bytes = (std::uint64_t{1} << 31) - 1;  // limit of protobuf

/// Maximum number of values of a tensor. A larger shape counts as damaged.
constexpr std::uint64_t max_tensor_values = std::uint64_t{1} << 32;

std::string entry_of(const onnx::TensorProto& tensor, const char* key) {
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return {};
}

/// Parses `text` as a whole number. Returns `fallback` for an empty text, nullopt if it is not a number.
std::optional<std::uint64_t> number_of(const std::string& text, std::uint64_t fallback) {
  return text.empty() ? std::optional(fallback) : whole_number<std::uint64_t>(text);
}

[[noreturn]] void refuse_model(const std::filesystem::path& file, const std::string& reason) {
  throw Error(Category::data, fmt::format("{}: {}", file.string(), reason));
}

}  // namespace

onnx::ModelProto parse_onnx_model(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  onnx::ModelProto model;
  const bool is_message = model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (is_message && !model.graph().node().empty()) return model;
  const std::string kind = content_kind(bytes);
  if (!kind.empty() && kind != "an ONNX model") refuse_model(file, kind + ", not an ONNX model");
  refuse_model(file,
               is_message ? "is not an ONNX model: it has no nodes" : "is not an ONNX model, or is damaged");
}

onnx::ModelProto read_onnx_model(const std::filesystem::path& file) {
  if (InputFile(file).size() > max_message_bytes) {
    refuse_model(file, "has more than 2 GiB, so it is not an ONNX model");
  }
  return parse_onnx_model(read_file(file), file);
}

void TensorReader::refuse(const onnx::TensorProto& tensor, const std::string& reason) const {
  throw Error(Category::data,
              fmt::format("{}: tensor {}: {}", file_.string(), in_quotes(tensor.name()), reason));
}

std::size_t TensorReader::count_values(const onnx::TensorProto& tensor) const {
  std::uint64_t count = 1;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0 || extent > static_cast<std::int64_t>(max_tensor_values)) {
      refuse(tensor, fmt::format("a dimension is {}", extent));
    }
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && count > max_tensor_values / factor) refuse(tensor, "has too many values");
    count *= factor;
  }
  return static_cast<std::size_t>(count);
}

std::vector<std::int64_t> TensorReader::shape(const onnx::TensorProto& tensor) const {
  count_values(tensor);
  return {tensor.dims().begin(), tensor.dims().end()};
}

/// Reads values from another file, which must be in the folder of the model, because models are untrusted.
template <class Value>
std::vector<Value> TensorReader::external_values(const onnx::TensorProto& tensor) const {
  const std::filesystem::path location = entry_of(tensor, "location");
  const std::string quoted = in_quotes(location.string());
  if (location.empty() || location.has_parent_path() || location == "..") {
    refuse(tensor, fmt::format("its values are in {}, which is not the name of a file", quoted));
  }
  const std::size_t count = count_values(tensor);
  const auto offset = number_of(entry_of(tensor, "offset"), 0);
  const auto length = number_of(entry_of(tensor, "length"), count * sizeof(Value));
  if (!offset || !length || *length != count * sizeof(Value)) {
    refuse(tensor, fmt::format("its offset or length in {} does not fit its shape", quoted));
  }
  const InputFile input(file_.parent_path() / location);
  if (*offset > input.size() || input.size() - *offset < *length) {
    refuse(tensor, fmt::format("{} ends before its values", quoted));
  }
  std::vector<Value> values(count);
  input.read(*offset, std::as_writable_bytes(std::span(values)));
  return values;
}

template <class Value, class Field>
std::vector<Value> TensorReader::values_of(const onnx::TensorProto& tensor, const Field& field) const {
  if (field.empty() && tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return external_values<Value>(tensor);
  }
  const std::size_t count = count_values(tensor);
  if (!field.empty()) {
    if (static_cast<std::size_t>(field.size()) != count) {
      refuse(tensor, fmt::format("has {}, but its shape needs {}", counted(field.size(), "value"), count));
    }
    return {field.begin(), field.end()};
  }
  const std::string& raw = tensor.raw_data();
  if (raw.size() != count * sizeof(Value)) {
    refuse(tensor,
           fmt::format("has {}, but its shape needs {}", counted(raw.size(), "byte"), count * sizeof(Value)));
  }
  std::vector<Value> values(count);
  if (count != 0) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

std::vector<float> TensorReader::floats(const onnx::TensorProto& tensor) const {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) {
    refuse(tensor, "has another type than float; export the model in float32");
  }
  return values_of<float>(tensor, tensor.float_data());
}

std::vector<std::int64_t> TensorReader::integers(const onnx::TensorProto& tensor) const {
  if (tensor.data_type() != onnx::TensorProto::INT64) refuse(tensor, "has another type than int64");
  return values_of<std::int64_t>(tensor, tensor.int64_data());
}

}  // namespace lockstep
