#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/find_checkpoints.h"
#include "cli/inspect/inspect_checkpoint.h"
#include "cli/model_options.h"
#include "cli/model_summary.h"
#include "cli/options/flag.h"
#include "cli/output.h"
#include "cli/train/train_options.h"
#include "core/files/file_system.h"
#include "core/hash.h"
#include "core/printable.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/model_file.h"
#include "lockstep/models.h"

namespace lockstep {
namespace {

struct InspectOptions {
  std::string file;
  ModelOptions model{.name = {}};
  Shape input = {1, 28, 28};
  int classes = 10;
  int micro_batch = 32;
  bool verify = false;
};

template <OptionsOf<InspectOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [file, model, input, classes, micro_batch, verify] = options;
  visit(model, field);
  field(input, {.name = "input", .help = "channels, rows and columns of the images"});
  field(classes, {.name = "classes", .help = "number of classes", .range = {.min = 1, .max = 1U << 24}});
  field(micro_batch, {.name = "micro-batch",
                      .help = "samples of a micro-batch, for the table of memory",
                      .range = {.min = 1, .max = 1U << 20}});
  field(verify,
        {.name = "verify",
         .help = "read all files, compare checkpoints with the sizes and hashes of their MANIFEST, and "
                 "print only the result: a line for each checkpoint of a run directory",
         .group = "Checkpoints"});
}

OptionSet option_set(InspectOptions& options) {
  OptionSet set(
      "lockstep inspect FILE.safetensors | CHECKPOINT | RUN_DIR | --model NAME [options]",
      "With a model file: shows its tensors (name, type, shape, number of values) and a digest. With "
      "--model, too, it is the digest that 'lockstep eval' prints, over the tensors in the order of the "
      "network. 'lockstep train' printed the same, unless --model-ema was given: then the file holds the "
      "average, but the printed digest is that of the trained parameters. "
      "With a checkpoint, or a run directory, whose newest good checkpoint is then used: shows step, epoch, "
      "options, identity of network and data, and its tensors; the digest is that of the trained parameters. "
      "Without a file: shows the layers of --model and the memory that it takes.");
  set.optional_positional("FILE.safetensors | CHECKPOINT | RUN_DIR",
                          "model file or folder; without it, the network is shown", options.file);
  set.add(options);
  set.config_file();
  set.ignore(train_option_names());
  set.epilogue(
      "Examples:\n  lockstep inspect lenet.safetensors\n"
      "  lockstep inspect lenet.safetensors --model lenet\n"
      "  lockstep inspect runs/lenet/checkpoints/step-00001000\n"
      "  lockstep inspect --verify runs/lenet\n"
      "  lockstep inspect --model resnet50 --input 3x224x224 --classes 1000\n");
  return set;
}

/// Digest of the tensors in the order of the network.
std::string network_digest(const ModelFile& file, const InspectOptions& options) {
  const auto network = make_model(options.model.name, options.input, options.classes);
  try {
    return digest(*network, file);
  } catch (const Error& error) {
    const auto& [channels, height, width] = options.input;
    throw Error(error.category(), fmt::format("{}; the network is for {} {}x{}x{} {} {}", error.what(),
                                              flag_of(&InspectOptions::input), channels, height, width,
                                              flag_of(&InspectOptions::classes), options.classes));
  }
}

/// Line with the digest of the tensors: in the order of the network if one is named, else of the file.
std::string digest_line(const ModelFile& file, const InspectOptions& options) {
  if (!options.model.name.empty()) {
    return fmt::format("digest {}\n", network_digest(file, options));
  }
  Digest hash;
  for (const TensorInfo& tensor : file.tensors()) {
    if (!tensor.name.ends_with("num_batches_tracked")) {  // PyTorch's count: not a parameter
      hash.update(file.bytes(tensor));
    }
  }
  return fmt::format("digest in the file's order xxh3:{}\n", hash.hex());
}

void print_tensors(const ModelFile& file) {
  std::size_t width = 4;
  for (const TensorInfo& tensor : file.tensors()) {
    width = std::max(width, tensor.name.size());
  }
  print(fmt::format("{:<{}}  type  {:>10}  shape\n", "name", width, "values"));
  std::uint64_t total = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    std::uint64_t values = 1;
    for (const std::int64_t extent : tensor.shape) {
      values *= static_cast<std::uint64_t>(extent);
    }
    print(fmt::format("{:<{}}  {:<4}  {:>10}  [{}]\n", without_control_characters(tensor.name), width,
                      tensor.dtype, values, fmt::join(tensor.shape, ", ")));
    total += values;
  }
  print(fmt::format("{} tensors, {} values\n", file.tensors().size(), total));
}

void print_file(const ModelFile& file, const InspectOptions& options) {
  print_tensors(file);
  print(digest_line(file, options));
  for (const auto& [key, value] : file.metadata()) {
    print(without_control_characters(fmt::format("{} = {}", key, value)) + "\n");
  }
}

void print_checkpoint(const Checkpoint& checkpoint, const InspectOptions& options) {
  print(without_control_characters(fmt::format("checkpoint {}", checkpoint.folder.string())) + "\n");
  print_state(checkpoint.state);
  print(digest_line(checkpoint.model, options));
  print("\nmodel.safetensors\n");
  print_tensors(checkpoint.model);
  print("\noptimizer.safetensors\n");
  print_tensors(checkpoint.optimizer);
}

/// A model file holds no hash; reading checks its structure.
void verify_file(const std::string& file) {
  const ModelFile model = ModelFile::read(file);
  print(fmt::format("{}: readable, {} tensors; a model file holds no hash\n", file, model.tensors().size()));
}

void print_network(const InspectOptions& options) {
  const auto network = make_model(options.model.name, options.input, options.classes);
  print(layer_table(*network) + "\n" + memory_table(*network, options.micro_batch));
}

void inspect(const InspectOptions& options) {
  const bool is_folder = file_kind(options.file) == FileKind::folder;
  if (options.file.empty() && (options.verify || options.model.name.empty())) {
    throw Error(Category::usage, "name a model file, a checkpoint or a run directory, or a network with " +
                                     flag_of(&ModelOptions::name));
  }
  if (options.file.empty()) {
    print_network(options);
  } else if (options.verify) {
    is_folder ? verify_checkpoints(options.file) : verify_file(options.file);
  } else if (is_folder) {
    print_checkpoint(open_checkpoint(options.file), options);
  } else {
    print_file(ModelFile::read(options.file), options);
  }
}

}  // namespace

int run_inspect(int argc, char** argv) {
  InspectOptions options;
  OptionSet set = option_set(options);
  if (!set.parse(argc, argv, environ)) return print_help(set.help());
  if (is_first_process()) inspect(options);
  return 0;
}

}  // namespace lockstep
