#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/model_summary.h"
#include "cli/options/flag.h"
#include "cli/output.h"
#include "cli/train_options.h"
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
};

template <OptionsOf<InspectOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [file, model, input, classes, micro_batch] = options;
  visit(model, field);
  field(input, {.name = "input", .help = "channels, rows and columns of the images"});
  field(classes, {.name = "classes", .help = "number of classes", .range = {.min = 1, .max = 1U << 24}});
  field(micro_batch, {.name = "micro-batch",
                      .help = "samples of a micro-batch, for the table of memory",
                      .range = {.min = 1, .max = 1U << 20}});
}

OptionSet option_set(InspectOptions& options) {
  OptionSet set(
      "lockstep inspect FILE.safetensors | --model NAME [options]",
      "With a model file: shows its tensors (name, type, shape, number of values) and a digest. With "
      "--model, too, it is the digest that 'lockstep eval' prints, over the tensors in the order of the "
      "network. 'lockstep train' printed the same, unless --model-ema was given: then the file holds the "
      "average, but the printed digest is that of the trained parameters. "
      "Without a model file: shows the layers of --model and the memory that it takes.");
  set.optional_positional("FILE.safetensors", "model file; without it, the network is shown", options.file);
  set.add(options);
  set.config_file();
  set.ignore(train_option_names());
  set.epilogue(
      "Examples:\n  lockstep inspect lenet.safetensors\n"
      "  lockstep inspect lenet.safetensors --model lenet\n"
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

void print_file(const ModelFile& file, const InspectOptions& options) {
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
  print(fmt::format("{} tensors, {} values\n", file.tensors().size(), total) + digest_line(file, options));
  for (const auto& [key, value] : file.metadata()) {
    print(without_control_characters(fmt::format("{} = {}", key, value)) + "\n");
  }
}

void print_network(const InspectOptions& options) {
  const auto network = make_model(options.model.name, options.input, options.classes);
  print(layer_table(*network) + "\n" + memory_table(*network, options.micro_batch));
}

void inspect(const InspectOptions& options) {
  if (!options.file.empty()) {
    print_file(ModelFile::read(options.file), options);
  } else if (!options.model.name.empty()) {
    print_network(options);
  } else {
    throw Error(Category::usage, "name a model file, or a network with " + flag_of(&ModelOptions::name));
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
