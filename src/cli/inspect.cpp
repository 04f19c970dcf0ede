#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/model_summary.h"
#include "cli/options/option_set.h"
#include "cli/options/options.h"
#include "cli/output.h"
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
  field(input, {.name = "input", .help = "channels, height and width of the network's images"});
  field(classes, {.name = "classes", .help = "classes", .range = {.min = 1, .max = 1U << 24}});
  field(micro_batch, {.name = "micro-batch",
                      .help = "images that an executor works on at once",
                      .range = {.min = 1, .max = 1U << 20}});
}

OptionSet option_set(InspectOptions& options) {
  OptionSet set(
      "lockstep inspect FILE.safetensors | --model NAME [options]",
      "Shows the tensors of a model file: name, type, shape, number of values, and a digest: with --model "
      "that of 'lockstep eval', in the network's order, which 'lockstep train' printed when it "
      "saved the file (with --model-ema it printed that of the trained parameters, not of their "
      "saved average). Or a network: its layers, and the memory that it takes.");
  set.optional_positional("FILE.safetensors", "model file; without one, the network is shown", options.file);
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
    throw Error(error.category(), fmt::format("{}; the network is for --input {}x{}x{} --classes {}",
                                              error.what(), channels, height, width, options.classes));
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
    throw Error(Category::usage, "name a model file, or a network with --model NAME");
  }
}

}  // namespace

int run_inspect(int argc, char** argv) {
  InspectOptions options;
  OptionSet set = option_set(options);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  set.parse(argc, argv, environ);
  if (is_first_process()) {
    inspect(options);
  }
  return 0;
}

}  // namespace lockstep
