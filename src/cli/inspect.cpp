#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/option_set.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/hash.h"
#include "lockstep/error.h"
#include "lockstep/model_file.h"
#include "lockstep/models.h"

namespace lockstep {
namespace {

struct InspectOptions {
  std::string file;
};

OptionSet declare(InspectOptions& options) {
  OptionSet set("lockstep inspect FILE.safetensors",
                "Shows the tensors of a model file: name, type, shape, number of values, and the digest that "
                "'lockstep train' printed for it.");
  set.positional("FILE.safetensors", "model file", options.file);
  set.pass_over(train_option_names());
  set.epilogue("Example:\n  lockstep inspect lenet.safetensors\n");
  return set;
}

void print_file(const ModelFile& file) {
  std::size_t width = 4;
  for (const TensorInfo& tensor : file.tensors()) {
    width = std::max(width, tensor.name.size());
  }
  print(fmt::format("{:<{}}  type  {:>10}  shape\n", "name", width, "values"));
  std::uint64_t total = 0;
  Digest digest;
  for (const TensorInfo& tensor : file.tensors()) {
    std::uint64_t values = 1;
    for (const std::int64_t extent : tensor.shape) {
      values *= static_cast<std::uint64_t>(extent);
    }
    print(fmt::format("{:<{}}  {:<4}  {:>10}  [{}]\n", tensor.name, width, tensor.dtype, values,
                      fmt::join(tensor.shape, ", ")));
    total += values;
    digest.update(file.bytes(tensor));
  }
  print(fmt::format("{} tensors, {} values\ndigest xxh3:{}\n", file.tensors().size(), total, digest.hex()));
  for (const auto& [key, value] : file.metadata()) {
    print(fmt::format("{} = {}\n", key, value));
  }
}

}  // namespace

int run_inspect(int argc, char** argv) {
  InspectOptions options;
  OptionSet set = declare(options);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  set.parse(argc, argv, environ);
  if (is_first_process()) {
    print_file(ModelFile::read(options.file));
  }
  return 0;
}

}  // namespace lockstep
