#include "onnx/protobuf/onnx_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text/printable.h"
#include "graph/operations.h"
#include "lockstep/error.h"

namespace lockstep {

std::string OnnxNode::label() const {
  const bool named = !proto_.name().empty() || proto_.output().empty();
  return fmt::format("node {} ({})", in_quotes(named ? proto_.name() : output()), printable(op()));
}

void OnnxNode::refuse(const std::string& reason) const {
  throw Error(Category::data, fmt::format("{}: {}: {}", file_, label(), reason));
}

const std::string& OnnxNode::input(std::size_t number) const {
  if (!has_input(number)) refuse(fmt::format("input {} is missing", number + 1));
  return input_or_empty(number);
}

void OnnxNode::refuse_part(const OperationPart& part) const {
  const char* reason = "this operator is supported as a part of SiLU, GELU and group normalization only";
  if (part.kind == OperationPart::Kind::narrowed) reason = needs_matrix;
  if (part.kind == OperationPart::Kind::padded) reason = "this operator is supported before AveragePool only";
  throw Error(Category::data, fmt::format("{}: {}: {}", file_, part.node, reason));
}

const GraphTensor& OnnxNode::tensor(std::size_t number) const {
  const auto found = tensors_.find(input(number));
  if (found == tensors_.end()) {
    refuse(fmt::format("no node before it gives its input {}", in_quotes(input(number))));
  }
  return found->second;
}

const OperationPart* OnnxNode::find_part(std::size_t number, OperationPart::Kind kind) const {
  const auto* part = input_as<OperationPart>(number);
  return part != nullptr && part->kind == kind ? part : nullptr;
}

LayerOutput OnnxNode::layer_output(std::size_t number) const {
  if (const auto* output = input_as<LayerOutput>(number)) return *output;
  if (const auto* part = input_as<OperationPart>(number)) refuse_part(*part);
  refuse(fmt::format("input {} is a constant", number + 1));
}

LayerOutput OnnxNode::image() const {
  const LayerOutput x = layer_output();
  if (x.flat) refuse("takes images, but its input is [batch, values]");
  return x;
}

const Constant& OnnxNode::constant(std::size_t number) const {
  if (const auto* found = input_as<Constant>(number)) return *found;
  refuse(fmt::format("input {} is not a constant", number + 1));
}

const std::vector<std::int64_t>& OnnxNode::sizes(std::size_t number) const {
  if (const auto* found = input_as<Sizes>(number)) return found->values;
  refuse(fmt::format("input {} does not consist of known sizes", number + 1));
}

std::optional<double> OnnxNode::find_number(std::size_t number) const {
  if (const auto* found = input_as<Sizes>(number); found != nullptr && found->values.size() == 1) {
    return static_cast<double>(found->values[0]);
  }
  if (const auto* found = input_as<Filled>(number); found != nullptr && found->shape.size() <= 1) {
    return found->value;
  }
  const auto* found = input_as<Constant>(number);
  if (found == nullptr || !(found->shape.empty() || found->shape == std::vector<std::int64_t>{1})) {
    return std::nullopt;
  }
  return reader_.floats(*found->tensor).front();
}

double OnnxNode::number(std::size_t input) const {
  if (const auto found = find_number(input)) return *found;
  refuse(fmt::format("input {} is not a single number", input + 1));
}

const onnx::AttributeProto* OnnxNode::find(const char* attribute) const {
  const onnx::AttributeProto* found = nullptr;
  for (const onnx::AttributeProto& each : proto_.attribute()) {
    if (each.name() != attribute) continue;
    if (found != nullptr) refuse(fmt::format("has the attribute {} twice", attribute));
    found = &each;
  }
  return found;
}

std::int64_t OnnxNode::integer(const char* attribute, std::int64_t fallback) const {
  const onnx::AttributeProto* found = find(attribute);
  return found == nullptr ? fallback : found->i();
}

float OnnxNode::real(const char* attribute, float fallback) const {
  const onnx::AttributeProto* found = find(attribute);
  return found == nullptr ? fallback : found->f();
}

std::string OnnxNode::text(const char* attribute, const char* fallback) const {
  const onnx::AttributeProto* found = find(attribute);
  return found == nullptr ? fallback : found->s();
}

std::vector<std::int64_t> OnnxNode::integers(const char* attribute,
                                             std::vector<std::int64_t> fallback) const {
  const onnx::AttributeProto* found = find(attribute);
  if (found == nullptr) return fallback;
  return {found->ints().begin(), found->ints().end()};
}

const onnx::TensorProto* OnnxNode::tensor_attribute(const char* attribute) const {
  const onnx::AttributeProto* found = find(attribute);
  return found == nullptr || !found->has_t() ? nullptr : &found->t();
}

int OnnxNode::option(const char* what, std::int64_t value) const {
  if (value < 0 || value > max_window)
    refuse(fmt::format("{} is {}, not from 0 to {}", what, value, max_window));
  return static_cast<int>(value);
}

int OnnxNode::common_option(const char* attribute, std::size_t count, std::int64_t fallback) const {
  const std::vector<std::int64_t> values = integers(attribute, std::vector(count, fallback));
  if (values.size() != count || std::ranges::any_of(values, [&](auto value) { return value != values[0]; })) {
    refuse(fmt::format("{} is {}: only {} equal numbers are supported", attribute, fmt::join(values, ","),
                       count));
  }
  return option(attribute, values[0]);
}

}  // namespace lockstep
