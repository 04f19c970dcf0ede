#include <fmt/format.h>

#include <string>

#include "cli/commands.h"
#include "cli/model/model_options.h"
#include "cli/model/saved_model.h"
#include "cli/options/option_set.h"
#include "cli/output.h"
#include "cli/source_files.h"
#include "core/message.h"
#include "core/printable.h"
#include "lockstep/error.h"
#include "lockstep/model_description.h"
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
};

template <OptionsOf<ExportOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [model, output, network, input, classes, fold_batch_norm, softmax,
                          with_preprocessing] = options;
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
  visit(network, field);
  field(input, {.name = "input", .help = "channels, rows and columns of the samples of --model"});
  field(classes,
        {.name = "classes", .help = "number of classes of --model", .range = {.min = 1, .max = 1U << 24}});
}

OptionSet option_set(ExportOptions& options) {
  OptionSet set(
      "lockstep export MODEL OUT.onnx [options]",
      "Writes a saved model as an ONNX model (opset 17) for any number of samples, with input \"input\" "
      "and output \"logits\". The network is that of the model; --model, --input and --classes are for "
      "files of earlier versions and other programs.");
  set.positional("MODEL", "model file, checkpoint or run directory", options.model);
  set.positional("OUT.onnx", "file to write", options.output);
  set.add(options);
  set.epilogue(
      "Examples:\n  lockstep export runs/photos photos.onnx --with-preprocessing --softmax\n"
      "  lockstep export resnet18.safetensors r.onnx --model resnet18 --input 3x224x224 --classes 1000\n");
  return set;
}

/// Metadata of the ONNX model: the description without the network, which the ONNX model contains itself.
std::map<std::string, std::string> metadata_for(ModelDescription description) {
  description.network.clear();
  description.data.clear();
  description.options.clear();
  return metadata_of(description);
}

int export_model(const ExportOptions& options) {
  const SavedModel model = open_model(options.model, true);
  if (const std::string changed = changed_warning(model); !changed.empty()) {
    throw Error(Category::data,
                changed + ": it is damaged, or was changed without removing 'digest' from its metadata");
  }
  check_not_source(options.output, files_of(model));
  const auto network = network_of(model, options.network.name, options.input, options.classes);
  if (options.softmax && model.description.task != name_of(Task::classification)) {
    throw Error(Category::usage,
                fmt::format("is for classification; {} is a model of task {}", model.place,
                            in_quotes(model.description.task)),
                "softmax");
  }
  OnnxExportOptions how{.fold_batch_norm = options.fold_batch_norm,
                        .softmax = options.softmax,
                        .metadata = metadata_for(model.description)};
  if (options.with_preprocessing) {
    if (!model.describes_itself()) {
      throw Error(
          Category::usage,
          fmt::format("{} does not contain how samples were prepared: export it without it", model.place),
          "with-preprocessing");
    }
    how.preprocessing = OnnxPreprocessing{.pixels = model.description.table.empty(),
                                          .mean = model.description.input.mean,
                                          .deviation = model.description.input.deviation};
  }
  const OnnxExportSummary summary = export_onnx(options.output, *network, model.file, how);
  std::string text = fmt::format("{}: {} bytes", options.output, summary.bytes);
  if (options.fold_batch_norm) {
    text += fmt::format(", {} of {} batch norms folded", summary.folded_batch_norms,
                        summary.folded_batch_norms + summary.batch_norms);
  }
  print(without_control_characters(text) + "\n");
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
