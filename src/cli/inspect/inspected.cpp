#include "cli/inspect/inspected.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/model/model_summary.h"
#include "cli/model/saved_model.h"
#include "core/text/printable.h"
#include "data/files/table_encoding.h"
#include "train/run_description.h"

namespace lockstep {
namespace {

std::string text_of(const char* title, const Facts& facts) {
  if (facts.empty()) return {};
  std::string text = fmt::format("{}\n", title);
  for (const auto& [name, value] : facts) {
    text += without_control_characters(fmt::format("  {} = {}", name, value)) + "\n";
  }
  return text;
}

/// "epoch 3, test_loss 0.51".
std::string in_a_line(const Facts& facts) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : facts) texts.push_back(fmt::format("{} {}", name, value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string line(const char* title, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<10}{}\n", title, without_control_characters(text));
}

std::string network_text(const ModelDescription& description) {
  const auto network = make_network(description, "the file");
  const NetworkSummary summary = summarize(*network, 1);
  const std::string name = fact(description.options, "model");
  return fmt::format("{}{}layers: {}, parameters: {}", name, name.empty() ? "" : ", ", summary.layers.size(),
                     summary.parameters);
}

std::string input_text(const ModelDescription& description) {
  const InputOptions& input = description.input;
  std::string text = text_of(description.shape);
  if (!description.table.empty()) text += " columns of a table";
  if (!input.mean.empty()) text += fmt::format(", mean {}", fmt::join(input.mean, ","));
  if (!input.deviation.empty()) text += fmt::format(", std {}", fmt::join(input.deviation, ","));
  return text + (input.crop_share == 1.0 ? "" : fmt::format(", centre crop {}", input.crop_share));
}

/// Label column of a table; empty if the samples are images.
std::string label_text(const ModelDescription& description) {
  if (description.table.empty()) return "";
  return "column " + in_quotes(table_encoding_of(description, "the file").label_column);
}

/// Unit of the number to predict; empty unless the task is regression.
std::string target_text(const ModelDescription& description) {
  const auto& [mean, deviation] = description.target_scale;
  if (description.task != name_of(Task::regression)) return "";
  return fmt::format("mean {:.6g}, deviation {:.6g}", mean, deviation);
}

std::string text_of(const CheckpointState& state) {
  return fmt::format("step {}, epoch {}\n", state.step, state.epoch) + text_of("progress", state.progress) +
         text_of("options that decide the result", state.options) +
         text_of("network and data", state.identity) + text_of("fingerprint", state.fingerprint) +
         (state.engines.empty() ? "" : fmt::format("choices of cuDNN: {} bytes\n", state.engines.size()));
}

std::string text_of(const std::vector<InspectedTensor>& tensors) {
  std::size_t width = 4;
  for (const InspectedTensor& tensor : tensors) width = std::max(width, tensor.name.size());
  std::string text = fmt::format("{:<{}}  type  {:>10}  shape\n", "name", width, "values");
  std::uint64_t total = 0;
  for (const InspectedTensor& tensor : tensors) {
    text += fmt::format("{:<{}}  {:<4}  {:>10}  [{}]\n", without_control_characters(tensor.name), width,
                        tensor.dtype, tensor.values, fmt::join(tensor.shape, ", "));
    total += tensor.values;
  }
  return text + fmt::format("{}, {}\n", counted(tensors.size(), "tensor"), counted(total, "value"));
}

std::string text_of(const InspectedDigest& digest) {
  return fmt::format("digest {}{}\n", digest.digest_order == "file" ? "in the file's order " : "",
                     digest.digest);
}

/// Lines on network, input, classes, data set and results; empty for a file without a description.
std::string text_of(const ModelDescription& description) {
  if (description.network.empty()) return "";
  const Names& classes = description.classes;
  return line("network", network_text(description)) + line("input", input_text(description)) +
         line("outputs", fmt::format("{}{}{}", description.outputs, classes.empty() ? "" : ": ",
                                     fmt::join(classes, ", "))) +
         line("labels", label_text(description)) + line("task", description.task) +
         line("target", target_text(description)) + line("data", in_a_line(description.data)) +
         line("results", in_a_line(description.results)) +
         line("saved by", "lockstep " + description.version);
}

}  // namespace

std::vector<InspectedTensor> tensors_of(const ModelFile& file) {
  std::vector<InspectedTensor> tensors;
  for (const TensorInfo& tensor : file.tensors()) {
    std::uint64_t values = 1;
    for (const std::int64_t extent : tensor.shape) values *= static_cast<std::uint64_t>(extent);
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, values});
  }
  return tensors;
}

std::string text_of(const InspectedFile& file) {
  std::string text = text_of(file.tensors) + text_of(file.digest) + text_of(file.description) +
                     text_of("options of the training", file.description.options);
  const auto described = metadata_of(file.description);
  for (const auto& [key, value] : file.metadata) {
    if (!described.contains(key) && key != metadata_digest_name)
      text += without_control_characters(fmt::format("{} = {}", key, value)) + "\n";
  }
  return text;
}

std::string text_of(const InspectedCheckpoint& checkpoint) {
  return without_control_characters("checkpoint " + checkpoint.folder) + "\n" + text_of(checkpoint.state) +
         text_of(checkpoint.digest) + text_of(checkpoint.description) + "\nmodel.safetensors\n" +
         text_of(checkpoint.model) + "\noptimizer.safetensors\n" + text_of(checkpoint.optimizer);
}

std::string text_of(const Verified& verified) {
  if (!verified.problem.empty()) {
    return without_control_characters(fmt::format("{}: BAD: {}", verified.path, verified.problem)) + "\n";
  }
  return verified.step ? fmt::format("{}: good, step {}, {} + {} tensors\n", verified.path, *verified.step,
                                     verified.model_tensors, verified.optimizer_tensors)
                       : fmt::format("{}: {}, {}\n", verified.path,
                                     verified.has_digest ? "good" : "readable, but it has no digest",
                                     counted(verified.model_tensors, "tensor"));
}

}  // namespace lockstep
