#include "onnx/protobuf/onnx_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/printable.h"
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

const onnx::AttributeProto* OnnxNode::find(const char* attribute) const {
  for (const onnx::AttributeProto& each : proto_.attribute()) {
    if (each.name() == attribute) return &each;
  }
  return nullptr;
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

const onnx::TensorProto* OnnxNode::tensor(const char* attribute) const {
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
