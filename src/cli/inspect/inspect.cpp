#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/inspect/inspected.h"
#include "cli/model/find_checkpoints.h"
#include "cli/model/model_options.h"
#include "cli/model/model_summary.h"
#include "cli/model/saved_model.h"
#include "cli/options/flag.h"
#include "cli/results.h"
#include "core/files/file_system.h"
#include "core/hash.h"
#include "core/options/text.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/model_file.h"
#include "lockstep/models.h"
#include "run/checkpoint/checkpoint.h"
#include "run/run_folder.h"

namespace lockstep {
namespace {

struct InspectOptions {
  std::string file;
  ModelOptions model{.name = {}};
  Shape input = {1, 28, 28};
  int classes = 10;
  int micro_batch = 32;
  bool verify = false;
  ResultOptions results{};
  bool has_input = false;    ///< whether `input` is given
  bool has_classes = false;  ///< whether `classes` is given
};

template <OptionsOf<InspectOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [file, model, input, classes, micro_batch, verify, results, has_input, has_classes] =
      options;
  visit(model, field);
  field(input, {.name = "input",
                .help = "channels, rows and columns of the images of --model; by default those "
                        "of the file, if it describes its network"});
  field(classes, {.name = "classes",
                  .help = "number of classes of --model; by default that of the file, if it describes its "
                          "network",
                  .range = {.min = 1, .max = 1U << 24}});
  field(micro_batch, {.name = "micro-batch",
                      .help = "samples of a micro-batch, for the table of memory",
                      .range = {.min = 1, .max = 1U << 20}});
  field(verify,
        {.name = "verify",
         .help = "read all files, compare checkpoints with the sizes and hashes of their MANIFEST, and "
                 "print only the result: a line for each checkpoint and model of a run directory",
         .group = "Checkpoints"});
  visit(results, field);
}

OptionSet option_set(InspectOptions& options) {
  OptionSet set(
      "lockstep inspect FILE.safetensors | CHECKPOINT | RUN_DIR | --model NAME [options]",
      "With a model file: shows its tensors (name, type, shape, number of values), a digest, and the "
      "description that it contains. If it describes its network, or with --model, it is the digest that "
      "'lockstep eval' prints, over the tensors in the order of the network. 'lockstep train' printed the "
      "same, unless --model-ema was given: then the file holds the "
      "average, but the printed digest is that of the trained parameters. "
      "With a checkpoint, or a run directory, whose newest good checkpoint is then used: shows step, epoch, "
      "options, identity of network and data, and its tensors; the digest is that of the trained parameters. "
      "Without a file: shows the layers of --model and the memory that it takes.");
  set.optional_positional("FILE.safetensors | CHECKPOINT | RUN_DIR",
                          "model file or folder; without it, the network is shown", options.file);
  set.add(options);
  set.config_file();
  set.imply([&options](const OptionSet::Given& given) {
    options.has_input = !given("input").empty();
    options.has_classes = !given("classes").empty();
    return std::vector<ImpliedValue>();
  });
  set.epilogue(
      "Examples:\n  lockstep inspect lenet.safetensors\n"
      "  lockstep inspect lenet.safetensors --model lenet\n"
      "  lockstep inspect runs/lenet/checkpoints/step-00001000\n"
      "  lockstep inspect --verify runs/lenet\n"
      "  lockstep inspect --model resnet50 --input 3x224x224 --classes 1000\n");
  return set;
}

/// Digest in the order of the network --model for the input and classes that are given; by default, for those
/// that the file describes.
std::string network_digest(const ModelFile& file, const ModelDescription& description,
                           const InspectOptions& options) {
  const bool is_described = !description.network.empty();
  const Shape input = is_described && !options.has_input ? description.shape : options.input;
  const int classes = is_described && !options.has_classes ? description.outputs : options.classes;
  const auto network = make_model(options.model.name, input, classes);
  try {
    return digest(*network, file);
  } catch (const Error& error) {
    throw Error(error.category(), fmt::format("{}; the network is for {} {} {} {}", error.what(),
                                              flag_of(&InspectOptions::input), value_text(input),
                                              flag_of(&InspectOptions::classes), classes));
  }
}

/// Digest of the tensors: in the order of the network if one is named or described, else of the file.
InspectedDigest digest_of(const ModelFile& file, const ModelDescription& description,
                          const InspectOptions& options) {
  if (!options.model.name.empty()) return {network_digest(file, description, options), "network"};
  if (!description.network.empty())
    return {digest(*make_network(description, file.origin()), file), "network"};
  Digest hash;
  for (const TensorInfo& tensor : file.tensors()) {
    if (!tensor.name.ends_with("num_batches_tracked")) {  // PyTorch's counter, not a parameter
      if (tensor.dtype != "F32" && holds_floats(tensor)) {
        hash.update(file.floats(tensor.name, tensor.shape));
      } else {
        hash.update(file.bytes(tensor));
      }
    }
  }
  return {"xxh3:" + hash.hex(), "file"};
}

InspectedFile inspect_file(const ModelFile& file, const InspectOptions& options) {
  ModelDescription description = description_of(file);
  InspectedDigest digest = digest_of(file, description, options);
  print_warning(changed_warning(file.metadata(), file.origin()));
  if (digest.digest_order == "network")
    print_warning(changed_warning(description, file.origin(), digest.digest));
  return {.tensors = tensors_of(file),
          .digest = std::move(digest),
          .metadata = {file.metadata().begin(), file.metadata().end()},
          .description = std::move(description)};
}

InspectedCheckpoint inspect_checkpoint(const Checkpoint& checkpoint, const InspectOptions& options) {
  const ModelFile& model = checkpoint.model;
  ModelDescription description = description_of(model);
  InspectedDigest digest = digest_of(model, description, options);
  return {.folder = checkpoint.folder.string(),
          .state = checkpoint.state,
          .digest = std::move(digest),
          .model = tensors_of(model),
          .optimizer = tensors_of(checkpoint.optimizer),
          .metadata = {model.metadata().begin(), model.metadata().end()},
          .description = std::move(description)};
}

/// Checks the structure of a model file and, if lockstep saved it, its parameters and metadata. Throws
/// Error(data).
Verified verify_file(const std::string& file) {
  const SavedModel model = open_model(file, false);
  return {.path = file, .model_tensors = model.file.tensors().size(), .has_digest = model.has_digest()};
}

Verified verify_checkpoint(const std::filesystem::path& path) {
  const Checkpoint checkpoint = read_checkpoint(path);
  return {.path = path.string(),
          .step = checkpoint.state.step,
          .model_tensors = checkpoint.model.tensors().size(),
          .optimizer_tensors = checkpoint.optimizer.tensors().size()};
}

/// Checks the files of a checkpoint or, if `path` is a run directory, of all its checkpoints and models.
/// Throws Error(data) if one is damaged, or if the run only has checkpoints without a MANIFEST.
void verify_checkpoints(const std::filesystem::path& path, const ResultPrinter& printer) {
  const std::vector<std::string> models = find_models(path);
  const auto checkpoints = models.empty()
                               ? find_checkpoints(path)
                               : list_checkpoints(RunFolder(run_or_checkpoint(path)).checkpoints());
  if (checkpoints.empty()) check_manifests(RunFolder(run_or_checkpoint(path)).checkpoints());
  const std::size_t count = checkpoints.size() + models.size();
  VerifiedFiles files;
  std::size_t damaged = 0;
  const auto verify = [&](const std::string& file, auto&& read) {
    try {
      files.verified.push_back(read(file));
    } catch (const Error& error) {
      if (count == 1) throw;
      files.verified.push_back({.path = file, .problem = error.what()});
      ++damaged;
    }
    printer.text(text_of(files.verified.back()));
  };
  for (const auto& checkpoint : checkpoints) verify(checkpoint.string(), verify_checkpoint);
  for (const std::string& model : models) verify(model, verify_file);
  printer.finish(files);
  if (damaged == 0) return;
  throw Error(Category::data, fmt::format("{}: {} of {} checkpoints{} cannot be used", path.string(), damaged,
                                          count, models.empty() ? "" : " and models"));
}

int inspect(const InspectOptions& options) {
  const bool names_folder = file_kind(options.file) == FileKind::folder;
  if (options.file.empty() && (options.verify || options.model.name.empty())) {
    throw Error(Category::usage, "name a model file, a checkpoint or a run directory, or a network with " +
                                     flag_of(&ModelOptions::name));
  }
  const ResultPrinter printer(options.results, true);
  if (options.file.empty()) {
    const auto network = make_model(options.model.name, options.input, options.classes);
    printer.print(summarize(*network, options.micro_batch));
  } else if (options.verify && names_folder) {
    verify_checkpoints(options.file, printer);
  } else if (options.verify) {
    const Verified file = verify_file(options.file);
    printer.text(text_of(file));
    printer.finish(VerifiedFiles{{file}});
  } else if (names_folder) {
    printer.print(inspect_checkpoint(open_checkpoint(options.file), options));
  } else {
    printer.print(inspect_file(ModelFile::read(options.file), options));
  }
  return 0;
}

}  // namespace

constinit const Command inspect_command = command_of_one_process<InspectOptions, option_set, inspect>(
    "inspect", "show a model file, a checkpoint or a network; check checkpoints");

}  // namespace lockstep
