#include "onnx/protobuf/graph_writer.h"

#include <fmt/format.h>

#include <bit>

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little);  // like the raw data of ONNX tensors

void set_value(onnx::AttributeProto& attribute, std::int64_t value) {
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}
void set_value(onnx::AttributeProto& attribute, float value) {
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}
void set_value(onnx::AttributeProto& attribute, const std::vector<std::int64_t>& values) {
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

void declare(onnx::ValueInfoProto& info, const std::string& name, onnx::TensorProto::DataType type,
             std::span<const std::int64_t> shape) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  for (const std::int64_t extent : shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

std::string GraphWriter::unique(const std::string& name) {
  std::string free = name;
  for (int number = 2; !names_.insert(free).second; ++number) free = fmt::format("{}-{}", name, number);
  return free;
}

std::string GraphWriter::add(const char* op, const std::string& name, const std::vector<std::string>& inputs,
                             const std::vector<OnnxAttribute>& attributes) {
  onnx::NodeProto& node = *graph_.add_node();
  std::string output = unique(name);
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  for (const auto& [attribute_name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(attribute_name);
    std::visit([&attribute](const auto& held) { set_value(attribute, held); }, value);
  }
  return output;
}

onnx::TensorProto& GraphWriter::initializer(const std::string& name, std::span<const std::int64_t> shape,
                                            onnx::TensorProto::DataType type,
                                            std::span<const std::byte> bytes) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(unique(name));
  tensor.set_data_type(type);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.set_raw_data(bytes.data(), bytes.size());
  return tensor;
}

std::string GraphWriter::constant(const std::string& name, const std::vector<std::int64_t>& shape,
                                  std::span<const float> values) {
  return initializer(name, shape, onnx::TensorProto::FLOAT, std::as_bytes(values)).name();
}

std::string GraphWriter::constant(const std::string& name, std::span<const std::int64_t> values) {
  const std::int64_t count = static_cast<std::int64_t>(values.size());
  return initializer(name, {&count, 1}, onnx::TensorProto::INT64, std::as_bytes(values)).name();
}

void GraphWriter::input(const std::string& name, onnx::TensorProto::DataType type,
                        std::span<const std::int64_t> shape) {
  declare(*graph_.add_input(), unique(name), type, shape);
}

void GraphWriter::output(const std::string& from, std::span<const std::int64_t> shape) {
  const std::string renamed = from == graph_.input(0).name() ? add("Identity", output_, {from}) : from;
  for (onnx::NodeProto& node : *graph_.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input == renamed) input = output_;
    }
    if (node.output(0) == renamed) node.set_output(0, output_);
  }
  declare(*graph_.add_output(), output_, onnx::TensorProto::FLOAT, shape);
}

}  // namespace lockstep
