#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lockstep/task.h"
#include "lockstep/training_options.h"

/// Events of a run. `event` is the name of an event in metrics.jsonl, and `visit` describes its line there:
/// it calls field(name, value, Presence) for each field in order. Writing, reading and printing use that
/// description. A visitor may set the values of an event that is not const.
namespace lockstep {

/// Whether a line has a field. Readers ignore fields and events that they do not know.
enum class Presence {
  required,        ///< every line has it
  added,           ///< every line of this version has it; lines of earlier versions may not
  unless_default,  ///< left out if the value is 0, empty or none
};
template <class Value>
bool has_field(const Value& value, Presence presence) {
  return presence != Presence::unless_default || value != Value();
}

/// A finished step.
struct StepReport {
  static constexpr const char* event = "step";
  int epoch = 1;              ///< from 1
  int epochs = 1;             ///< number of epochs of the whole run
  std::uint64_t step = 1;     ///< from 1 over the whole run
  std::uint64_t steps = 0;    ///< number of steps of the whole run; 0: unknown
  std::uint64_t samples = 0;  ///< number of samples over all ranks
  double loss = 0.0;          ///< mean over the global batch, before the update
  float learning_rate = 0.0F;
  double gradient_norm = 0.0;  ///< before clipping; 0: not computed, as neither clip_grad nor on_nan needs it
  double seconds = 0.0;
};

template <OptionsOf<StepReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  field("epoch", report.epoch, Presence::required);
  field("step", report.step, Presence::required);
  field("samples", report.samples, Presence::required);
  field("loss", report.loss, Presence::required);
  field("learning_rate", report.learning_rate, Presence::required);
  field("gradient_norm", report.gradient_norm, Presence::unless_default);
  field("seconds", report.seconds, Presence::required);
}

/// A step whose loss or gradient norm is not finite; the step changed nothing. Or the end of an epoch, if a
/// parameter or the loss of an evaluation is not finite.
struct NotFiniteReport {
  static constexpr const char* event = "not_finite";
  int epoch = 1;           ///< from 1
  std::uint64_t step = 1;  ///< from 1 over the whole run
  double loss = 0.0;       ///< sum over the samples
  double gradient_norm = 0.0;
  float learning_rate = 0.0F;
  std::string value{};                   ///< another value that is not finite: "the test loss"; else empty
  std::vector<std::uint64_t> samples{};  ///< ids of the step's samples, in order
  OnNan handling = OnNan::stop;          ///< what the run does
  std::uint64_t back_to_step = 0;        ///< with rollback: step of the checkpoint
  int back_to_epoch = 0;                 ///< with rollback: number of epochs evaluated up to that step
  /// With rollback: why a newer checkpoint was not used or was left in place; else empty.
  std::string remark{};

  /// Says which value is not finite: "the loss is nan".
  std::string what() const;
};

/// The record has only the number of samples; a separate file has their ids. The field "reason" says which
/// value is not finite; when a record is read, `value` is set from it.
template <OptionsOf<NotFiniteReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  std::string reason = report.what();
  std::uint64_t samples = report.samples.size();
  field("step", report.step, Presence::required);
  field("epoch", report.epoch, Presence::required);
  field("reason", reason, Presence::required);
  field("samples", samples, Presence::required);
  field("handling", report.handling, Presence::required);
  if (report.handling == OnNan::rollback) {
    field("back_to_step", report.back_to_step, Presence::required);
  }
  if constexpr (!std::is_const_v<R>) report.value = reason.substr(0, reason.rfind(" is "));
}

/// Prediction quality for one label (Task::multilabel). A label is predicted for a sample if its probability
/// is above 1/2.
struct LabelResult {
  std::uint64_t samples = 0;    ///< number of samples that have the label
  std::uint64_t predicted = 0;  ///< number of samples for which the label is predicted
  std::uint64_t correct = 0;    ///< number of samples that have the label and for which it is predicted
  /// Average precision as in scikit-learn, without interpolation: the sum over the distinct scores, in
  /// descending order, of precision * gain of recall, where samples with at least this score count as
  /// predicted. In [0, 1]; 0 if no sample has the label; NaN if a score is NaN.
  double average_precision = 0.0;
};

/// Means over the samples of an evaluation. A task has the metrics that metrics_of names.
struct Evaluation {
  Task task = Task::classification;
  int classes = 0;  ///< number of classes or labels of the data set
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;  ///< samples that could not be read; not counted in `samples`
  double loss = 0.0;          ///< mean; regression: squared error
  /// In [0, 1]. Classification: share of samples whose class has the largest logit. Multilabel: share of all
  /// samples' labels that are predicted correctly, at a probability above 1/2.
  double accuracy = 0.0;
  double top5 = 0.0;  ///< share of samples whose class is among the five with the largest logits
  /// Multilabel: mean of the average precision over the labels that at least one sample has; 0 if no sample
  /// has a label. Not computed for the steps of an epoch.
  double mean_average_precision = 0.0;
  double mae = 0.0;  ///< mean absolute error
  double r2 = 0.0;   ///< share of the targets' variance that the outputs explain; at most 1
  /// Numbers of samples by [class][predicted class]; empty unless requested.
  std::vector<std::uint64_t> confusion{};
  std::vector<LabelResult> labels{};  ///< multilabel; empty for the steps of an epoch

  /// The metric by which epochs are compared; higher is better.
  double score() const;
};

/// A metric of a task's evaluations. Output, records and reports are derived from this description.
struct Metric {
  const char* name = "";   ///< name in records: "accuracy", as in "train_accuracy"
  const char* label = "";  ///< name in output lines: "acc"
  const char* title = "";  ///< title of charts: "Accuracy"
  double Evaluation::*value = nullptr;
  bool in_epochs = true;  ///< whether epochs report it; false: evaluations of a saved model only
  bool of_steps = true;   ///< whether the steps of an epoch have the metric, too
  int above_classes = 0;  ///< printed only for more classes than this

  /// Whether an epoch's report has the metric for a part: "train", "validation" or "test".
  bool is_reported(std::string_view part) const { return in_epochs && (of_steps || part != "train"); }
};
/// Metrics of a task, in order; the first is the loss, the second the score.
std::span<const Metric> metrics_of(Task task);
/// The metric by which epochs are compared; higher is better.
const Metric& score_of(Task task);

/// An evaluated epoch.
struct EpochReport {
  static constexpr const char* event = "epoch";
  int epoch = 1;
  int epochs = 1;
  Evaluation train;  ///< over the epoch's steps, each before its update; NaN if all of them were left out
  Evaluation test;
  std::optional<Evaluation> validation = {};  ///< none without a validation set
  std::uint64_t steps = 0;                    ///< number of this epoch's steps
  std::uint64_t skipped_steps = 0;            ///< steps that OnNan::skip or OnNan::rollback left out
  double seconds = 0.0;            ///< time of the steps, without evaluation, reports and checkpoints
  double images_per_second = 0.0;  ///< samples / seconds; 0 if all steps were left out
  /// Time for reading samples, summed over this rank's executors; CUDA: time waiting for samples.
  double load_seconds = 0.0;
  double load_share = 0.0;       ///< load_seconds as a share of the executors' working time
  bool load_is_waiting = false;  ///< whether load_seconds were spent waiting (CUDA)
  bool best = false;     ///< whether judged().score() is the highest so far; false if all steps were left out
  std::string digest{};  ///< digest of the parameters, as Trainer::digest returns it

  /// Evaluation by which epochs are compared.
  const Evaluation& judged() const { return validation ? *validation : test; }
};

/// Calls field(name, value, Presence) for the metrics of `evaluation`: "train_loss" for the part "train".
template <class AnyEvaluation, class Visitor>
void visit_metrics(const std::string& part, AnyEvaluation& evaluation, Visitor&& field) {
  for (const Metric& metric : metrics_of(evaluation.task)) {
    if (!metric.is_reported(part)) continue;
    field((part + "_" + metric.name).c_str(), evaluation.*metric.value, Presence::required);
  }
}

template <OptionsOf<EpochReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  Task task = report.test.task;
  field("epoch", report.epoch, Presence::required);
  field("task", task, Presence::unless_default);
  if constexpr (!std::is_const_v<R>) report.train.task = report.test.task = task;
  visit_metrics("train", report.train, field);
  visit_metrics("test", report.test, field);
  Evaluation validation = report.validation.value_or(Evaluation{.task = task});
  bool validated = report.validation.has_value();
  visit_metrics("validation", validation, [&](const char* name, double& metric, Presence) {
    std::optional<double> value;
    if (report.validation) value = metric;
    field(name, value, Presence::unless_default);
    validated = value.has_value();
    metric = value.value_or(NAN);
  });
  std::optional<std::uint64_t> validation_left_out;
  if (report.validation) validation_left_out = report.validation->skipped;
  field("validation_left_out", validation_left_out, Presence::unless_default);
  field("train_left_out", report.train.skipped, Presence::added);
  field("test_left_out", report.test.skipped, Presence::added);
  field("skipped_steps", report.skipped_steps, Presence::unless_default);
  field("images_per_second", report.images_per_second, Presence::required);
  field("seconds", report.seconds, Presence::required);
  field("digest", report.digest, Presence::unless_default);
  if constexpr (!std::is_const_v<R>) {
    validation.skipped = validation_left_out.value_or(0);
    if (validated) report.validation = validation;
  }
}

/// Confusion matrix of EpochReport::judged(); reported before the EpochReport, if
/// TrainerOptions::count_confusion is set.
struct ConfusionReport {
  static constexpr const char* event = "confusion";
  int epoch = 1;
  std::vector<std::string> classes;    ///< names of the classes; empty: unnamed
  std::vector<std::uint64_t> samples;  ///< counts by [class][predicted class], as Evaluation::confusion
};

template <OptionsOf<ConfusionReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  field("epoch", report.epoch, Presence::required);
  field("classes", report.classes, Presence::required);
  field("samples", report.samples, Presence::required);
}

/// Digest of the parameters after a step.
struct DigestReport {
  static constexpr const char* event = "digest";
  std::uint64_t step = 0;  ///< number of steps made
  std::string digest;      ///< as Trainer::digest returns it
};

template <OptionsOf<DigestReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  field("step", report.step, Presence::required);
  field("digest", report.digest, Presence::required);
}

/// A rank that the others wait for: for at least 20 steps and 5 s, it has computed for more than 1.3 times
/// the median rank's time. Reported at most three times per rank. Times are in seconds per sample of the
/// rank's share, for reading, forward and backward pass, summed over the rank's executors.
struct StragglerReport {
  static constexpr const char* event = "straggler";
  std::uint64_t step = 0;  ///< number of steps made
  int rank = 0;
  std::string host;
  std::uint64_t steps = 0;  ///< number of steps for which it has been slow
  double seconds = 0.0;     ///< time of this rank, averaged over these steps
  double median = 0.0;      ///< time of the median rank, averaged over these steps
};

template <OptionsOf<StragglerReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  field("step", report.step, Presence::required);
  field("rank", report.rank, Presence::required);
  field("host", report.host, Presence::required);
  field("steps", report.steps, Presence::required);
  field("seconds_per_sample", report.seconds, Presence::required);
  field("median_seconds_per_sample", report.median, Presence::required);
}

/// A checkpoint that was written, or could not be written; reported on rank 0.
struct CheckpointReport {
  static constexpr const char* event = "checkpoint";
  std::uint64_t step = 0;
  std::filesystem::path folder{};  ///< empty: the checkpoint failed
  std::string failure{};           ///< reason why the checkpoint failed; empty: it was written
  std::string remark{};  ///< reason why older checkpoints could not be removed; empty: they were removed
  double stall_seconds = 0.0;  ///< time for which the training waited
  double write_seconds = 0.0;  ///< time for writing, in the background
};

template <OptionsOf<CheckpointReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  field("step", report.step, Presence::required);
  field("failure", report.failure, Presence::unless_default);
  field("stall_seconds", report.stall_seconds, Presence::required);
  field("write_seconds", report.write_seconds, Presence::required);
}

/// End of a run; reported by the program.
struct EndReport {
  static constexpr const char* event = "end";
  std::string digest;  ///< digest of the parameters: "xxh3:" and 32 hexadecimal digits
  std::string note{};  ///< remark on the digest; may be empty
};

template <OptionsOf<EndReport> R, class Visitor>
void visit(R& report, Visitor&& field) {
  field("digest", report.digest, Presence::required);
  field("note", report.note, Presence::unless_default);
}

using RunEvent = std::variant<StepReport, EpochReport, ConfusionReport, DigestReport, StragglerReport,
                              NotFiniteReport, CheckpointReport, EndReport>;

/// Whether `Function` can be called with at least one type of the variant `Events`, as a const reference.
template <class Function, class Events>
inline constexpr bool takes_one_of = false;
template <class Function, class... Events>
inline constexpr bool takes_one_of<Function, std::variant<Events...>> =
    (std::is_invocable_v<Function&, const Events&> || ...);

/// Function that accepts at least one type of event, by value or by const reference.
template <class Function>
concept EventFunction = takes_one_of<Function, RunEvent>;

/// Observer that passes each event to the function that accepts its type, and ignores events that none
/// accepts:
/// observer([](const StepReport& step) { ... }, [](const EpochReport& epoch) { ... })
template <EventFunction... Functions>
std::function<void(const RunEvent&)> observer(Functions... functions) {
  struct Overloaded : Functions... {
    using Functions::operator()...;
  };
  return [overloaded = Overloaded{std::move(functions)...}](const RunEvent& event) mutable {
    std::visit(
        [&](const auto& report) {
          if constexpr ((std::is_invocable_v<Functions&, decltype(report)> || ...)) overloaded(report);
        },
        event);
  };
}

/// The first epoch with the best score on the validation set (without one, on the test set).
struct BestEpoch {
  int epoch = 0;       ///< 0: none yet
  double score = 0.0;  ///< as Evaluation::score
};

/// A rank's request at a step boundary. The largest request of all ranks is carried out.
enum class Request : std::uint64_t {
  none,
  checkpoint,  ///< save the run's state and continue
  stop,        ///< end the run
};

/// Functions of the program that a run calls. They may be empty, and may be set later; `ask` and `act` must
/// not change during an epoch. If a function throws on some ranks only, those ranks' processes must end, as
/// the other ranks wait for them (run_program ensures it).
struct RunHooks {
  /// Called on every rank for every event except EndReport; for CheckpointReport on rank 0 only. A
  /// NotFiniteReport arrives before fit() throws (with `handling` OnNan::stop, also if the run gives up
  /// rolling back), after a skipped step, or after a rollback. A DigestReport follows every
  /// TrainerOptions::digest_interval-th step. A StragglerReport names a CPU rank with dedicated cores, and
  /// requires that ranks exchange requests. If on_event is empty, a failed checkpoint is printed as a
  /// warning.
  std::function<void(const RunEvent&)> on_event;
  /// Called on rank 0 before a checkpoint is written, in the thread that writes it, to sync files that must
  /// be on disk before the checkpoint. May throw Error: that checkpoint then fails.
  std::function<void()> before_checkpoint;
  /// Returns this rank's request. Called at step boundaries, when the outcomes of the steps are known, and
  /// also about every second during an evaluation and every few seconds during a long step. A Request::stop
  /// interrupts the evaluation or the step; the next fit() repeats it. Ranks exchange no requests if no rank
  /// has `ask` and Trainer::write_checkpoints was not called.
  std::function<Request()> ask;
  /// Called with the largest request of all ranks, on every rank at the same step.
  std::function<void(Request)> act;
};

/// Time in seconds of some steps on this rank, by part; load, forward, backward and fold are sums over its
/// executors. CUDA: only `total` and `load` are measured (`load`: time that the GPU waited for samples read
/// by the host); the other parts are 0.
struct StepTimes {
  int steps = 0;
  bool by_part = true;  ///< whether parts were measured (not on CUDA)
  double load = 0.0;
  double forward = 0.0;
  double backward = 0.0;
  double fold = 0.0;  ///< adding the gradients of this rank's micro-batches
  /// Waiting for other ranks, and exchange; if norms are needed, also the sum over the ranks.
  double reduce = 0.0;
  /// Update rule; unless norms are needed, also the sum over the ranks.
  double update = 0.0;
  double total = 0.0;
  std::uint64_t samples = 0;      ///< number of samples over all ranks
  std::uint64_t own_samples = 0;  ///< number of samples of this rank
};

}  // namespace lockstep
