#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/model/saved_model.h"
#include "cli/options/option_set.h"
#include "cli/output.h"
#include "cli/source_files.h"
#include "core/files/atomic_file.h"
#include "core/files/file_system.h"
#include "core/hash.h"
#include "core/options/text.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "lockstep/model_description.h"
#include "lockstep/model_file.h"
#include "lockstep/models.h"
#include "models/json/json_network.h"
#include "onnx/import.h"

namespace lockstep {
namespace {

struct ImportOptions {
  std::string model;
  std::string network;
  std::string input;  ///< a Shape, or empty
  bool no_weights = false;
};

Shape shape_of(const std::string& text) {
  Shape shape;
  read_value(text, {}, shape);
  return shape;
}

template <OptionsOf<ImportOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [model, network, input, no_weights] = options;
  field(input, {.name = "input",
                .help = "channels, rows and columns of the samples, if the model does not have them, or for "
                        "images of another size",
                .placeholder = "CxHxW",
                .check = [](const std::string& text) { shape_of(text); }});
  field(no_weights, {.name = "no-weights", .help = "write the network only, and do not read the weights"});
}

OptionSet option_set(ImportOptions& options) {
  OptionSet set(
      "lockstep import MODEL.onnx NETWORK.json",
      "Writes the network of an ONNX model, as PyTorch exports it, as a network file for --model, and "
      "its weights beside it as NETWORK.safetensors for --init-from. docs/onnx.md lists the operators.");
  set.positional("MODEL.onnx", "model, written by torch.onnx.export", options.model);
  set.positional("NETWORK.json", "network file to write", options.network);
  set.add(options);
  set.epilogue(
      "Example:\n  lockstep import resnet18.onnx resnet18.json\n"
      "  lockstep train --model resnet18.json --init-from resnet18.safetensors ...\n");
  return set;
}

std::string summary_of(const Network& network) {
  std::size_t values = 0;
  for (const Parameter& parameter : network.parameters())
    values += parameter.trained() ? parameter.size() : 0;
  return fmt::format("{}, {}, samples of {}, {}", counted(network.layers().size() - 1, "layer"),
                     counted(values, "parameter"), value_text(network.input_shape()),
                     counted(network.classes(), "class"));
}

/// Digest of the weights, in the format of lockstep::digest.
std::string digest_of(const std::vector<std::vector<float>>& weights) {
  Digest digest;
  for (const std::vector<float>& values : weights) digest.update(std::span<const float>(values));
  return "xxh3:" + digest.hex();
}

/// Description of the imported model. Names of the outputs and preparation of the samples are those that
/// lockstep exported; they are unknown for a model of another program, which names no version of lockstep.
/// Throws Error(data) if metadata or weights were changed after the export.
ModelDescription description_for(const OnnxImport& imported, const std::string& model) {
  const std::map<std::string, std::string>& metadata = imported.metadata;
  refuse_changed(changed_warning(metadata, model));
  ModelDescription description;
  if (metadata.contains("lockstep_version")) description = description_of(metadata, model);
  const bool has_all = description.outputs == imported.network->classes();
  if (!has_all) description.classes.clear();  // the network has changed since
  // Without a digest of the metadata, the digest of the parameters dates from before --fold-batch-norm.
  if (!has_all || !metadata.contains(metadata_digest_name)) description.digest.clear();
  if (!imported.weights.empty())
    refuse_changed(changed_warning(description, model, digest_of(imported.weights)));
  description.network = network_json(*imported.network);
  description.shape = imported.network->input_shape();
  description.outputs = imported.network->classes();
  if (!description.version.empty()) description.version = version();
  return description;
}

void write_weights(const std::filesystem::path& file, const OnnxImport& imported,
                   const ModelDescription& description) {
  const Network& network = *imported.network;
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    const Parameter& parameter = network.parameters()[i];
    tensors.push_back({parameter.name, parameter.shape, std::span<const float>(imported.weights[i])});
  }
  write_model_file(file, tensors, metadata_of(description));
}

/// Throws Error(usage) for a model that import has not written, as its weights would be lost. A file written
/// by import describes its network, unlike PyTorch's files, and has no training options.
void check_weights_file(const std::filesystem::path& weights_file) {
  if (file_kind(weights_file) != FileKind::file) return;
  try {
    const ModelFile present = ModelFile::read(weights_file);
    if (present.metadata().contains("network") && !present.metadata().contains("options")) return;
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;  // else a file of another kind
  }
  throw Error(Category::usage,
              fmt::format("the weights would replace {}, which lockstep import has not written: name another "
                          "network file, or use --no-weights",
                          weights_file.string()));
}

/// Text of an operation and its options, except the initializer of its weights.
std::string text_without_initializer(const Operation& operation) {
  std::string text = name_of(operation);
  for (const FieldText& option : field_texts(operation)) {
    if (std::string_view(option.field.name) != "weight")
      text += fmt::format(" {}={}", option.field.name, option.value);
  }
  return text;
}

/// Whether `file` describes `network`, regardless of parameter initializers.
bool is_file_of(const Network& network, const std::filesystem::path& file) {
  const auto is_same = [](const Network::Layer& one, const Network::Layer& other) {
    return one.inputs == other.inputs &&
           text_without_initializer(one.operation) == text_without_initializer(other.operation);
  };
  try {
    const auto present = read_network(file.string(), network.input_shape(), network.classes());
    return std::ranges::equal(present->layers(), network.layers(), is_same) &&
           same_parameters(*present, network);
  } catch (const Error&) {  // not a network for these samples
    return false;
  }
}

/// Throws Error(usage) if `network_file` has another network, which would be lost.
void check_not_other_network(const std::filesystem::path& network_file, const Network& network) {
  if (file_kind(network_file) != FileKind::file || is_file_of(network, network_file)) return;
  throw Error(Category::usage,
              fmt::format("would replace {}, another network: name another file, or remove it",
                          network_file.string()));
}

int import_model(const ImportOptions& options) {
  const std::filesystem::path network_file = options.network;
  if (network_file.extension() != ".json") {
    throw Error(Category::usage, fmt::format("the name of a network file ends with .json, not as {}",
                                             in_quotes(options.network)));
  }
  OnnxImportOptions how{.weights = !options.no_weights};
  if (!options.input.empty()) how.input = shape_of(options.input);
  const OnnxImport imported = import_onnx(options.model, how);
  const std::string json = network_json(*imported.network);
  const auto weights_file = std::filesystem::path(network_file).replace_extension(".safetensors");
  check_not_source(network_file, {{options.model, "the model itself"}});
  check_not_other_network(network_file, *imported.network);
  if (how.weights) check_not_source(weights_file, {{options.model, "the model itself"}});
  if (how.weights) check_weights_file(weights_file);
  const ModelDescription description = description_for(imported, options.model);
  write_text_file(network_file, json);
  std::vector<std::string> lines{fmt::format("{}: {}", options.network, summary_of(*imported.network))};
  if (how.weights) {
    write_weights(weights_file, imported, description);
    lines.push_back(fmt::format("{}: the weights", weights_file.string()));
  }
  lines.insert(lines.end(), imported.notes.begin(), imported.notes.end());
  std::string text;
  for (const std::string& line : lines) text += without_control_characters(line) + "\n";
  print_report(text);
  return 0;
}

}  // namespace

constinit const Command import_command = command_of_one_process<ImportOptions, option_set, import_model>(
    "import", "write the network and the weights of an ONNX model");

}  // namespace lockstep
