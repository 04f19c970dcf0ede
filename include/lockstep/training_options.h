#pragma once

#include <cstdint>
#include <string>

#include "lockstep/execution.h"
#include "lockstep/field.h"
#include "lockstep/input.h"
#include "lockstep/optimizer.h"
#include "lockstep/schedule.h"

namespace lockstep {

class Dataset;
class World;

/// Order in which the gradients of all ranks are added.
enum class Reduce {
  canonical,  ///< in the order of one fixed tree: the same bits on any number of ranks
  ring,       ///< the library's all-reduce: bits depend on the number of ranks
};
inline Names choices_of(Reduce) { return {"canonical", "ring"}; }

/// Scaling of the learning rate with the batch size.
enum class BatchScaling { linear, square_root };
inline Names choices_of(BatchScaling) { return {"linear", "sqrt"}; }

/// Reaction to a step whose loss or gradient norm is not finite. Such a step never changes parameters.
enum class OnNan {
  stop,      ///< ends the run with an error
  skip,      ///< continues with the next step
  rollback,  ///< rolls back to a checkpoint, and skips the batches from there to this step
};
inline Names choices_of(OnNan) { return {"stop", "skip", "rollback"}; }

struct BatchOptions {
  int size = 256;         ///< samples of one step over all ranks; by_data<int>: batch_size_for
  int micro_batches = 0;  ///< 0: default_micro_batches

  bool operator==(const BatchOptions&) const = default;
};

template <OptionsOf<BatchOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [size, micro_batches] = options;
  field(size, {.name = "batch-size",
               .help = "samples per step, over all ranks together",
               .group = "Training",
               .range = {.min = 1, .max = 1U << 24},
               .by_data = "the largest power of two from 32 to 256 that makes 30 steps an epoch, or 32"});
  field(micro_batches,
        {.name = "micro-batches",
         .help = "number of parts that each batch is cut into; must divide the batch size, and is the "
                 "maximum number of ranks. Affects the result; auto depends on batch size and device",
         .range = {.min = 1, .max = 1U << 24},
         .zero = "auto"});
}

/// Options of a training run; `visit` describes them.
struct TrainerOptions {
  int epochs = 10;  ///< by_data<int>: epochs_for
  std::uint64_t max_steps = 0;
  BatchOptions batch = {};
  std::uint64_t seed = 0;
  bool drop_last = false;
  double label_smoothing = 0.0;  ///< rounded to float
  OnNan on_nan = OnNan::stop;
  bool model_ema = false;
  double model_ema_decay = 0.9998;
  int early_stopping = 0;
  std::uint64_t digest_interval = 0;
  std::uint64_t check_replicas_every = 500;
  /// Whether evaluations of up to 100 classes are reported with a ConfusionReport.
  bool count_confusion = false;
  double learning_rate = 0.1;  ///< see largest_learning_rate
  int lr_base_batch_size = 0;
  BatchScaling lr_base_scale = BatchScaling::linear;
  ScheduleOptions schedule = {};
  OptimizerOptions optimizer = {};
  InputOptions input = {};
  AugmentOptions augment = {};
  Reduce reduce = Reduce::canonical;
  ExecutionOptions execution = {};

  bool operator==(const TrainerOptions&) const = default;
};

template <OptionsOf<Reduce> O, class Visitor>
void visit(O& reduce, Visitor&& field) {
  field(reduce,
        {.name = "reduce",
         .help = "order in which gradients are added: canonical gives the same bits on any number of ranks, "
                 "ring is the order of the MPI library or of NCCL",
         .group = "Execution"});
}

template <OptionsOf<TrainerOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [epochs, max_steps, batch, seed, drop_last, label_smoothing, on_nan, model_ema, model_ema_decay,
         early_stopping, digest_interval, check_replicas_every, count_confusion, learning_rate,
         lr_base_batch_size, lr_base_scale, schedule, optimizer, input, augment, reduce, execution] = options;
  visit(input, field);
  visit(augment, field);
  field(epochs,
        {.name = "epochs",
         .help =
             "passes over the training set; 0: no training (with --save-model, saves the initial parameters)",
         .group = "Training",
         .scope = Scope::protocol,
         .by_data = "as many as make 1,000 steps, but from 30 to 60"});
  field(max_steps,
        {.name = "max-steps", .help = "stop after this many steps; 0: no limit", .scope = Scope::protocol});
  visit(batch, field);
  field(
      seed,
      {.name = "seed",
       .help = "seed of everything random: initial parameters, order of the samples, dropout, augmentation"});
  field(drop_last,
        {.name = "drop-last", .help = "skip the last batch of an epoch if it is smaller than the others"});
  field(label_smoothing,
        {.name = "smoothing",
         .help = "label smoothing: share of each target that is spread evenly over all classes, in training "
                 "only: the training loss contains it, validation and test losses do not",
         .range = {.below = 1},
         .needs = {{"task", {"classification"}}}});
  field(on_nan, {.name = "on-nan",
                 .help = "when a step's loss, or the norm of its gradient, is not finite: stop the run, skip "
                         "the step (the tenth in a row ends the run), or return to the last checkpoint and "
                         "pass over the batches up to this step (up to 10 times in an epoch); the ids of its "
                         "samples are written to the run directory",
                 .scope = Scope::protocol});
  field(model_ema, {.name = "model-ema",
                    .help = "keep an exponential moving average of the parameters, which is evaluated and "
                            "saved instead of them; the digest remains that of the trained parameters"});
  field(model_ema_decay, {.name = "model-ema-decay",
                          .help = "share of the average that each step keeps",
                          .range = {.above = 0, .below = 1},
                          .needs = {{"model-ema"}}});
  field(
      early_stopping,
      {.name = "early-stopping",
       .help = "stop after this many epochs without a better validation score (without "
               "--validation-fraction: test score): accuracy, or the first metric of another task; 0: never",
       .placeholder = "EPOCHS",
       .scope = Scope::protocol});
  field(digest_interval, {.name = "digest-interval",
                          .help = "write the digest of the parameters to metrics.jsonl after every Nth step, "
                                  "for lockstep diff; 0: at the end of each epoch only",
                          .scope = Scope::protocol});
  field(check_replicas_every,
        {.name = "check-replicas-every",
         .help = "compare the parameters of all ranks after every Nth step, and name a rank whose "
                 "parameters differ; 0: only at checkpoints and at the end of each epoch",
         .placeholder = "STEPS",
         .scope = Scope::protocol});
  field(count_confusion, {.name = "count-confusion",
                          .help = "count the samples of each evaluation by class and predicted class",
                          .scope = Scope::protocol,
                          .visible = false});
  field(learning_rate, {.name = "lr",
                        .help = "learning rate; its maximum if a schedule changes it",
                        .group = "Learning rate"});
  field(lr_base_batch_size, {.name = "lr-base-batch-size",
                             .help = "batch size for which --lr is given; the learning rate is scaled from "
                                     "it to --batch-size; 0: no scaling",
                             .range = {.max = 1U << 24}});
  field(lr_base_scale,
        {.name = "lr-base-scale",
         .help = "scale the learning rate with the batch size (linear) or with its square root (sqrt)",
         .needs = {{"lr-base-batch-size"}}});
  visit(schedule, field);
  visit(optimizer, field);
  visit(reduce, field);
  visit(execution, field);
}

/// Learning rate scaled from its base batch size to the batch size, and rounded to float as in steps.
float largest_learning_rate(const TrainerOptions& options);

/// Optimizer options as steps use them: unless OnNan::stop, steps need the gradient norm, so clip_grad is
/// set.
OptimizerOptions update_rule(const TrainerOptions& options);

/// Value of `batch-size = auto` for a number of training samples: the largest power of two from 32 to 256
/// that makes at least 30 steps an epoch; 32 if none does, so that two ranks or threads have work.
int batch_size_for(std::uint64_t samples);

/// Value of `epochs = auto`: enough epochs for 1,000 steps, but at least 30 and at most 60.
int epochs_for(std::uint64_t steps_per_epoch);

/// The options with each by_data replaced by a value computed from the training samples and the other
/// options: the same on any number of ranks. Collective; options must be equal on all ranks. Throws on all
/// ranks: Error(usage) for impossible values, as check_fields does, and if mean or deviation would have to be
/// measured on samples of numbers; Error(data) if none of the images to be measured can be read.
TrainerOptions resolved_by_data(const World& world, TrainerOptions options, const Dataset& train);

/// Number of micro-batches for `micro_batches = 0` on `device`: cpu, or cuda if all ranks use it. Divides the
/// batch size; docs/same-bits.md has the rule.
int default_micro_batches(int batch_size, DeviceKind device = DeviceKind::cpu);

/// Number of micro-batches of a batch on `device`, cpu or cuda. Throws Error(usage) if it does not divide the
/// batch size, naming the nearest number that does.
int micro_batches_of(const BatchOptions& batch, DeviceKind device);

/// Share of a CPU's vector lanes, in (0, 1], that micro-batches of `samples` use: kernels compute 16 samples
/// at a time.
double used_lanes(int samples);

struct LoadOptions {
  bool reset_head = false;

  bool operator==(const LoadOptions&) const = default;
};

template <OptionsOf<LoadOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [reset_head] = options;
  field(reset_head, {.name = "reset-head",
                     .help = "reinitialise the last layer if the file lacks it, has other shapes for it, or "
                             "says that it is for other classes",
                     .needs = {{"init-from"}}});
}

}  // namespace lockstep
