#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/model/model_options.h"
#include "cli/model/saved_model.h"
#include "cli/options/flag.h"
#include "cli/options/option_set.h"
#include "cli/output.h"
#include "cli/source_files.h"
#include "core/finite.h"
#include "core/options/text.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "lockstep/error.h"
#include "lockstep/input.h"
#include "lockstep/model_description.h"
#include "lockstep/model_file.h"
#include "lockstep/task.h"
#include "onnx/export.h"

namespace lockstep {
namespace {

struct ExportOptions {
  std::string model;
  std::string output;
  ModelOptions network{.name = {}};
  Shape input = {1, 28, 28};
  int classes = 10;
  bool fold_batch_norm = false;
  bool softmax = false;
  bool with_preprocessing = false;
  InputOptions preparation{};  ///< preparation of samples; only mean and deviation are options
  bool has_input = false;      ///< whether `input` is given
};

template <OptionsOf<ExportOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [model, output, network, input, classes, fold_batch_norm, softmax,
                          with_preprocessing, preparation, has_input] = options;
  field(fold_batch_norm,
        {.name = "fold-batch-norm",
         .help = "compute the weights of convolutions and linear layers so that they include "
                 "the batch norm after them",
         .group = "ONNX"});
  field(softmax, {.name = "softmax", .help = "end with softmax: the model gives probabilities, not logits"});
  field(
      with_preprocessing,
      {.name = "with-preprocessing",
       .help = "begin with the preparation of samples: the model takes pixels as bytes from 0 to 255, or the "
               "numbers to which the columns of a table were encoded, and divides and normalizes them as in "
               "training"});
  visit(preparation, [&](auto& value, const Field& option) {
    const std::string_view name = option.name;
    if (name != "mean" && name != "std") return;
    Field own = option;
    own.group = "";
    own.needs.push_back({"with-preprocessing", {}});
    field(value, own);
  });
  visit(network, field);
  field(input, {.name = "input",
                .help = "channels, rows and columns of the samples, if the model does not have them, or for "
                        "images of another size"});
  field(classes,
        {.name = "classes", .help = "number of classes of --model", .range = {.min = 1, .max = 1U << 24}});
}

OptionSet option_set(ExportOptions& options) {
  OptionSet set(
      "lockstep export MODEL OUT.onnx [options]",
      "Writes a saved model as an ONNX model (opset 17) for any number of samples, with input \"input\" "
      "and output \"logits\". The network is that of the model, for samples as in its training; --model, "
      "--input and --classes are for files of earlier versions and other programs.");
  set.positional("MODEL", "model file, checkpoint or run directory", options.model);
  set.positional("OUT.onnx", "file to write", options.output);
  set.add(options);
  set.imply([&options](const OptionSet::Given& given) {
    options.has_input = !given("input").empty();
    return std::vector<ImpliedValue>();
  });
  set.epilogue(
      "Examples:\n  lockstep export runs/photos photos.onnx --with-preprocessing --softmax\n"
      "  lockstep export resnet18.safetensors r.onnx --model resnet18 --input 3x224x224 --classes 1000\n");
  return set;
}

/// Metadata of the ONNX model: the description without the network, which the ONNX model already contains. If
/// `folds`, also without the digest of the parameters, as folding changes them.
std::map<std::string, std::string> metadata_for(ModelDescription description, bool folds) {
  description.network.clear();
  description.data.clear();
  description.options.clear();
  if (folds) description.digest.clear();
  std::map<std::string, std::string> metadata = metadata_of(description);
  metadata[metadata_digest_name] = metadata_digest(metadata);
  return metadata;
}

/// Throws Error(data) for a parameter that is not finite.
void check_finite(const Network& network, const SavedModel& model) {
  for (const Parameter& parameter : network.parameters()) {
    if (all_finite(model.file.floats(parameter.name, parameter.shape))) continue;
    throw Error(
        Category::data,
        fmt::format("{}: the parameter '{}' is not finite, so the model's outputs would not be finite "
                    "either: export another checkpoint or run",
                    model.place, parameter.name));
  }
}

int export_model(const ExportOptions& options) {
  const SavedModel model = open_model(options.model, true);
  check_output(options.output, OutputKind::onnx, {{model.place, "the model itself"}});
  const bool is_own_input = model.describes_itself() && !options.has_input;
  const Shape input = is_own_input ? model.description.shape : options.input;
  const auto network = network_of(model, options.network.name, input, options.classes);
  if (network->input_shape() != input) {
    throw Error(Category::usage,
                fmt::format("the network of {} is for samples of {}, not {}", model.place,
                            value_text(network->input_shape()), value_text(input)),
                "input");
  }
  check_finite(*network, model);
  if (options.softmax && model.description.task != name_of(Task::classification)) {
    throw Error(Category::usage,
                fmt::format("is for classification; {} is a model of task {}", model.place,
                            in_quotes(model.description.task)),
                "softmax");
  }
  ModelDescription description = model.description;
  if (model.describes_itself()) description.shape = network->input_shape();
  const auto& [mean, deviation, crop_share, strict] = options.preparation;
  if (!mean.empty()) description.input.mean = mean;
  if (!deviation.empty()) description.input.deviation = deviation;
  OnnxExportOptions how{.fold_batch_norm = options.fold_batch_norm,
                        .softmax = options.softmax,
                        .metadata = metadata_for(description, options.fold_batch_norm)};
  if (options.with_preprocessing) {
    if (!model.knows_preparation() && mean.empty() && deviation.empty()) {
      throw Error(Category::usage,
                  fmt::format("{} does not contain how samples were prepared: give {} and {}, or export it "
                              "without it",
                              model.place, flag_of(&InputOptions::mean), flag_of(&InputOptions::deviation)),
                  "with-preprocessing");
    }
    how.preprocessing = OnnxPreprocessing{.pixels = description.table.empty(),
                                          .mean = description.input.mean,
                                          .deviation = description.input.deviation};
  }
  const OnnxExportSummary summary = export_onnx(options.output, *network, model.file, how);
  std::string text = fmt::format("{}: {} bytes", options.output, summary.bytes);
  if (options.fold_batch_norm) {
    text += fmt::format(", {} of {} batch norms folded", summary.folded_batch_norms,
                        summary.folded_batch_norms + summary.batch_norms);
  }
  print_report(without_control_characters(text) + "\n");
  if (summary.dropouts > 0) {
    print_message(
        fmt::format("{}: the network's dropout is left out, as it has no effect on predictions; to "
                    "train on, add it to the network file that lockstep import writes",
                    options.output));
  }
  return 0;
}

}  // namespace

constinit const Command export_command = command_of_one_process<ExportOptions, option_set, export_model>(
    "export", "write a saved model as an ONNX model");

}  // namespace lockstep
