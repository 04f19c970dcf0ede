#include "cli/options.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "cli/common_options.h"
#include "lockstep/error.h"
#include "lockstep/optimizer.h"
#include "lockstep/schedule.h"

namespace lockstep {
namespace {

template <typename E>
using Names = std::vector<std::pair<std::string, E>>;

const Names<BatchScaling> scaling_names = {{"linear", BatchScaling::linear},
                                           {"sqrt", BatchScaling::square_root}};
const Names<Progress> progress_names = {
    {"auto", Progress::automatic}, {"on", Progress::on}, {"off", Progress::off}};

constexpr std::uint64_t largest_count = std::numeric_limits<std::int32_t>::max();

void declare_model_and_data(OptionSet& set, TrainOptions& options) {
  set.group("Model and data");
  declare_model(set, "network to train", options.model);
  declare_data(set, options.dataset, options.data);
  declare_input(set, options.input);
  set.text("init-from", "FILE", "start from the parameters of this model file (safetensors)",
           options.init_from);
  set.flag("reset-head",
           "with --init-from: the last layer starts anew where the file has another number of classes",
           options.reset_head);
}

void declare_learning_rate(OptionSet& set, TrainOptions& options) {
  set.number("lr", "X", "learning rate", options.learning_rate);
  set.integer("lr-base-batch-size", "N",
              "the learning rate is meant for batches of N images and is scaled to --batch-size; 0: it is "
              "meant for --batch-size",
              options.base_batch_size, {.min = 0, .max = 1U << 24});
  set.choice("lr-base-scale", "how: with the batch, or with its square root", options.base_scale,
             scaling_names);
}

void declare_optimizer(OptionSet& set, OptimizerOptions& options) {
  constexpr NumberRange share{.min = 0.0, .below = 1.0};
  set.choice("optimizer", "update rule", options.name, optimizer_names());
  set.number("momentum", "X", "sgd, lars: share of the last update that is kept", options.momentum, share);
  set.flag("nesterov", "sgd, lars: look ahead along the momentum", options.nesterov);
  set.number("weight-decay", "X",
             "sgd, lars: this times the parameter is added to its gradient; adamw, lamb: this times the "
             "learning rate (lamb: and the trust ratio) is taken off the parameter",
             options.weight_decay);
  set.flag("filter-bias-and-bn", "no weight decay on parameters with one dimension: biases and norms",
           options.filter_bias_and_bn);
  set.number("beta1", "X", "adamw, lamb: decay of the gradient's mean", options.beta1, share);
  set.number("beta2", "X", "adamw, lamb: decay of the gradient's mean square", options.beta2, share);
  set.number("opt-eps", "X",
             "adamw, lamb: added to the root of the mean square; lars: to the gradient's norm; 0: the rule's "
             "own, 1e-8, of lamb 1e-6",
             options.eps);
  set.number("trust-coeff", "X", "lars: share of the parameter's norm that a step may have",
             options.trust_coefficient);
  set.flag("always-adapt",
           "lars, lamb: scale the rate of biases and norms by the ratio of norms, too, as that of weights",
           options.always_adapt);
  set.number("clip-grad", "NORM",
             "scale the gradient of all trained parameters down to this norm where it is larger; 0: leave it "
             "(lamb's paper clips to 1)",
             options.clip_grad);
  set.texts(
      "freeze", "NAME,...",
      "do not update these parameters: names of parameters or layers, with * and ?; may be given "
      "several times. A frozen batch norm keeps its running statistics, but still normalises by those of "
      "the micro-batch while training",
      options.freeze);
}

void declare_schedule(OptionSet& set, TrainOptions& options) {
  ScheduleOptions& schedule = options.schedule;
  set.choice("sched", "how the learning rate goes over the run", schedule.name, schedule_names());
  set.number("warmup-epochs", "X",
             "the learning rate first rises over X epochs, in equal steps; of onecycle: its rise, 0 for 30 % "
             "of the run",
             schedule.warmup_epochs);
  set.number("min-lr", "X", "learning rate that it falls towards", schedule.min_lr);
  set.number("decay-epochs", "X", "step: epochs from one decay to the next", schedule.decay_epochs);
  set.numbers("decay-milestones", "X,X,...", "multistep: epochs after which it decays",
              schedule.decay_milestones);
  set.number("decay-rate", "X", "step, multistep: factor of a decay", schedule.decay_rate);
  set.integer("sched-power", "N", "polynomial: its degree", schedule.power, {.min = 1, .max = 100});
}

void declare_training(OptionSet& set, TrainOptions& options) {
  set.group("Training (these, the model and the data determine the result)");
  set.integer("epochs", "N",
              "passes over the training images; 0 trains nothing (with --save-model: writes the first "
              "weights)",
              options.epochs, {.min = 0, .max = largest_count});
  declare_batch(set, options.batch_size, options.micro_batches);
  declare_augmentation(set, options.input.augment);
  declare_learning_rate(set, options);
  declare_optimizer(set, options.optimizer);
  declare_schedule(set, options);
  set.number("smoothing", "X",
             "label smoothing: share of every target that is spread evenly over the classes",
             options.label_smoothing, {.min = 0.0, .below = 1.0});
  set.integer("seed", "N", "chooses the first parameters and the order of the images", options.seed);
  set.flag("drop-last", "leave out the last, smaller batch of an epoch", options.drop_last);
  set.integer("max-steps", "N", "stop after this many steps; 0 for no limit", options.max_steps);
  set.integer("early-stopping", "EPOCHS",
              "stop after this many epochs without a better test accuracy; 0 for never",
              options.early_stopping, {.min = 0, .max = largest_count});
  set.flag("model-ema",
           "keep a moving average of the parameters: it is what is tested and saved; the digest is that of "
           "the trained parameters",
           options.model_ema);
  set.number("model-ema-decay", "X", "share of the average that a step keeps", options.model_ema_decay,
             {.min = 0.0, .below = 1.0});
}

void declare_execution(OptionSet& set, TrainOptions& options) {
  set.group("Execution");
  declare_reduce(set, options.reduction);
  declare_execution(set, options.execution);
}

void declare_output(OptionSet& set, TrainOptions& options) {
  set.group("Output");
  set.text(
      "run-dir", "DIR",
      "write options.cfg, environment.json, metrics.jsonl, report.html and checkpoints there, among them "
      "the model of the best test accuracy; without it, nothing but the printed lines",
      options.run_directory);
  set.text("save-model", "FILE",
           "write the trained parameters (with --model-ema: their average) to this file (safetensors)",
           options.save_model);
  set.integer(
      "log-interval", "N",
      "write every Nth step to metrics.jsonl; more than 1: a GPU is also given N steps (at most 1000) "
      "before the host looks at what they found, otherwise 50",
      options.log_interval, {.min = 1, .max = largest_count});
  set.choice("progress", "line on stderr that shows the step; auto where stderr is a terminal",
             options.progress, progress_names);
  set.flag("quiet", "print the final digest only: no progress, no line per epoch", options.quiet);
  set.config_file();
}

constexpr const char* examples =
    R"(Every option can also be set as NAME = value in a --config file or as LOCKSTEP_NAME in the
environment (--batch-size: LOCKSTEP_BATCH_SIZE). The command line wins over the environment, the
environment over the file. A run's options.cfg is such a file.

Examples:
  Train LeNet for 10 epochs on this machine, and keep a record of the run:
    lockstep train --model lenet --dataset fashion-mnist --lr 0.1 --run-dir runs/lenet

  The same run on 4 ranks; the digest at the end is the same:
    mpirun -n 4 lockstep train --config runs/lenet/options.cfg --run-dir runs/lenet-4
)";

OptionSet declare(TrainOptions& options) {
  OptionSet set("lockstep train [options]",
                "Trains an image classifier on all ranks of this run (mpirun, srun or a single process). The "
                "result depends on the model, the data, the seed and the training options, not on the number "
                "of ranks, hosts or threads.");
  declare_model_and_data(set, options);
  declare_training(set, options);
  declare_execution(set, options);
  declare_output(set, options);
  set.epilogue(examples);
  return set;
}

/// The divisor of `number` that is nearest to `wanted`.
std::uint32_t nearest_divisor(std::uint32_t number, std::uint32_t wanted) {
  for (std::uint32_t distance = 0;; ++distance) {
    if (wanted > distance && number % (wanted - distance) == 0) return wanted - distance;
    if (wanted + distance <= number && number % (wanted + distance) == 0) return wanted + distance;
  }
}

}  // namespace

void check_train_options(const TrainOptions& options) {
  if (options.reset_head && options.init_from.empty()) {
    throw Error(Category::usage, "--reset-head needs --init-from");
  }
  if (options.micro_batches > options.batch_size) {
    throw Error(Category::usage, fmt::format("--micro-batches {} is more than --batch-size {}",
                                             options.micro_batches, options.batch_size));
  }
  if (options.micro_batches > 0 && options.batch_size % options.micro_batches != 0) {
    throw Error(Category::usage, fmt::format("--micro-batches {} does not divide --batch-size {}; {} does",
                                             options.micro_batches, options.batch_size,
                                             nearest_divisor(options.batch_size, options.micro_batches)));
  }
  if (!options.model_ema && options.model_ema_decay != TrainOptions{}.model_ema_decay) {
    throw Error(Category::usage, "--model-ema-decay has no effect without --model-ema: leave it out");
  }
  if (options.base_batch_size == 0 && options.base_scale != TrainOptions{}.base_scale) {
    throw Error(Category::usage, "--lr-base-scale has no effect without --lr-base-batch-size: leave it out");
  }
  if (options.model_ema && options.model_ema_decay == 0.0) {
    throw Error(Category::usage,
                "--model-ema with --model-ema-decay 0 averages nothing: leave out --model-ema");
  }
  if (options.run_directory.empty() && options.log_interval != TrainOptions{}.log_interval) {
    throw Error(Category::usage, "--log-interval has no effect without --run-dir: leave it out");
  }
  if (options.execution.device == "cpu" && options.execution.dtype != DataType::fp32) {
    throw Error(Category::usage, fmt::format("--dtype {} needs a GPU: --device cpu computes in fp32",
                                             name_of(options.execution.dtype)));
  }
}

double scaled_learning_rate(const TrainOptions& options) {
  if (options.base_batch_size == 0) return options.learning_rate;
  const double ratio = static_cast<double>(options.batch_size) / options.base_batch_size;
  return options.learning_rate * (options.base_scale == BatchScaling::linear ? ratio : std::sqrt(ratio));
}

TrainRequest parse_train_options(int argc, const char* const* argv, const char* const* environment) {
  TrainRequest request;
  OptionSet set = declare(request.options);
  if (!set.parse(argc, argv, environment)) {
    request.help = set.help();
    return request;
  }
  check_train_options(request.options);
  return request;
}

std::string train_config(const TrainOptions& options) {
  TrainOptions copy = options;
  copy.progress = Progress::automatic;  // belongs to this terminal, not to the run
  return declare(copy).config();
}

std::vector<std::string> train_option_names() {
  TrainOptions options;
  return declare(options).names();
}

}  // namespace lockstep
