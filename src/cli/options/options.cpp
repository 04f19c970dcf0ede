#include "cli/options/options.h"

namespace lockstep {
namespace {

constexpr const char* examples =
    R"(Examples:
  Train LeNet on Fashion-MNIST on this machine, and keep a record of the run:
    lockstep train --lr 0.2 --run-dir runs/lenet

  The same run on 2 ranks; the digest at the end is the same:
    lockstep-run -np 2 train --config runs/lenet/options.cfg --run-dir runs/lenet-2

  Another network and recipe, without files:
    lockstep train --dataset synthetic --model resnet20 --epochs 1 --sched cosine --momentum 0.9
)";

constexpr const char* sources =
    R"(Every option can also be set as NAME = value in a --config file or as LOCKSTEP_NAME in the
environment (--batch-size: LOCKSTEP_BATCH_SIZE). The command line wins over the environment, the
environment over the file. A run's options.cfg is such a file.
)";

}  // namespace

OptionSet train_option_set(TrainOptions& options) {
  OptionSet set(
      "lockstep train [options]",
      "Trains an image classifier on all ranks of this run (lockstep-run, mpirun, srun or a single "
      "process). The result, whose digest is printed at the end, depends on the model, the data, the "
      "seed and the training options, not on the number of ranks, hosts or threads.");
  set.prologue(examples);
  set.add(options);
  set.config_file();
  set.epilogue(sources);
  set.check([&options] { micro_batches_of(options.training.batch, DeviceKind::cpu); });
  return set;
}

std::string train_config(const TrainOptions& options) {
  TrainOptions copy = options;
  copy.output.progress = ProgressLine::automatic;  // belongs to this terminal, not to the run
  return train_option_set(copy).config();
}

std::vector<std::string> train_option_names() {
  TrainOptions options;
  return train_option_set(options).names();
}

}  // namespace lockstep
