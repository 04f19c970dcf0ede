#include "lockstep/trainer.h"

#include <utility>

#include "comm/world/agreed.h"
#include "comm/world/check_same.h"
#include "comm/world/watch_of.h"
#include "core/files/file.h"
#include "core/files/folder.h"
#include "lockstep/world.h"
#include "optim/segments.h"
#include "train/check_options.h"
#include "train/checkpoints/checkpointer.h"
#include "train/checkpoints/restore.h"
#include "train/evaluator.h"
#include "train/initial_model.h"
#include "train/loop/epoch_loop.h"
#include "train/run.h"
#include "train/run_description.h"
#include "train/same_run.h"
#include "train/session/session.h"
#include "train/step/training_steps.h"
#include "train/training_state.h"

namespace lockstep {
namespace {

/// Maximum number of classes of a confusion matrix. With more, a line of the record would be too long, and
/// nobody reads the matrix.
constexpr int most_confusion_classes = 100;

}  // namespace

/// A run, made in phases that all ranks complete or fail together: compare and place, check, connect,
/// compile, state, steps, epoch loop.
class Trainer::Implementation {
 public:
  Implementation(const Trainer& owner, const World& world, const Network& network, const Dataset& train,
                 const Dataset& test, const TrainerOptions& options, const Dataset* validation)
      : identity_(agreed(world, [&] { return identity_of_run(network, train, test, validation); })),
        placement_(compare_and_place(world, identity_, options)),
        run_(check_run(world, placement_, network, train, test, options)),
        session_(world, placement_, run_.options.execution),
        training_graph_(compile(true)),
        evaluation_graph_(compile(false)),
        state_(session_, run_),
        steps_(session_, run_, *training_graph_, state_),
        test_evaluator_(session_, *evaluation_graph_, test, run_.micro_batch(), state_.results(),
                        run_.options.input, rounds_of(test)),
        validation_evaluator_(validation == nullptr ? nullptr
                                                    : make_evaluator(*validation, "validation data")),
        loop_({.session = session_, .run = run_, .steps = steps_, .state = state_, .hooks = owner},
              test_evaluator_, validation_evaluator_.get()),
        hooks_(owner),
        facts_(facts_of(session_, run_, identity_)),
        description_(description_of(run_)) {
    if (options.count_confusion && test.task() == Task::classification &&
        network.classes() <= most_confusion_classes) {
      Evaluator& judge = validation_evaluator_ ? *validation_evaluator_ : test_evaluator_;
      judge.count_confusion(static_cast<std::size_t>(network.classes()));
    }
    world.agree([&] { reserve_open_files(files_of_steps(), "the run"); });
  }

  void fit() {
    if (run_.options.on_nan == OnNan::rollback) prepare_rollback();
    while (!loop_.position().done() && loop_.run_epoch()) {
    }
    steps_.gather_averages();  // after a stop within an epoch
    if (checkpointer_) {
      const InStage in(watch_of(session_.world()), Stage::checkpoint);
      checkpointer_->complete();
    }
    if (loop_.position().done()) loop_.check_counted();
    watch_of(session_.world()).set_stage(Stage::end);
  }

  void describe(RunFacts facts) {
    facts_.options.insert(facts_.options.end(), facts.options.begin(), facts.options.end());
    description_.data = std::move(facts.data);
  }

  void save(const std::string& file, const std::map<std::string, std::string>& metadata) const {
    std::map<std::string, std::string> all = metadata;
    ModelDescription saved = description();
    saved.results = state_.present_results();
    saved.digest = state_.digest_of_results();
    all.merge(metadata_of(saved));
    state_.save(file, all);
  }

  void check_checkpoint_space(const std::filesystem::path& folder) {
    session_.world().agree([&] {
      if (session_.world().rank() != 0) return;
      const Progress& progress = state_.progress;
      lockstep::check_checkpoint_space(folder, state_.arenas().size() * run_.layout.elements * sizeof(float),
                                       progress.step,
                                       static_cast<std::uint64_t>(progress.best.epoch) * run_.epoch.steps);
    });
  }

  std::vector<std::string> write_checkpoints(const std::filesystem::path& folder,
                                             const CheckpointOptions& options) {
    session_.world().agree([&] { check_fields(options); });
    check_checkpoint_space(folder);
    session_.world().agree([&] {
      if (session_.world().rank() == 0) make_folder(folder);
    });
    loop_.set_checkpointer(nullptr);
    checkpointer_.reset();
    checkpointer_ = std::make_unique<Checkpointer>(session_, run_, state_, folder, options, facts_,
                                                   description(), hooks_);
    loop_.set_checkpointer(checkpointer_.get());
    return resumed_ ? checkpointer_->set_aside_later() : std::vector<std::string>();
  }

  std::vector<std::string> resume(const std::filesystem::path& folder, bool force) {
    session_.world().agree([&] {
      if (!checkpointer_) return;
      throw Error(Category::usage, "resume() was called after write_checkpoints(): call it before");
    });
    std::vector<std::string> remarks = restore(session_, run_, folder, facts_, force, state_);
    loop_.leave_epoch();
    loop_.check_replicas();
    resumed_ = true;
    return remarks;
  }

  Evaluation evaluate(const Dataset& dataset) {
    check_same(session_.world(), {{"data set", dataset.fingerprint()}});
    steps_.gather_averages();
    Evaluation evaluation =
        &dataset == &run_.test ? test_evaluator_.run() : make_evaluator(dataset, "data set")->run();
    check_read(session_.world(), evaluation, "samples");
    return evaluation;
  }

  std::vector<std::string> load(const ModelFile& file, const LoadOptions& options) {
    // Ranks may share the arena, where a different file on one rank would go unnoticed.
    check_same(session_.world(), lines_of_load(file, options));
    InitialModel initial;
    session_.world().agree([&] {
      initial = compare_initial_model(file.origin(), lockstep::description_of(file), description(),
                                      options.reset_head);
      state_.load(file, options, initial.other_outputs);
    });
    state_.start_averages();
    loop_.check_replicas();
    return initial.warnings;
  }

  const Run& run() const { return run_; }
  const Session& session() const { return session_; }
  const TrainingState& state() const { return state_; }
  EpochLoop& loop() { return loop_; }

 private:
  /// Compares the arguments before anything else: ranks with different arguments could wait for each other
  /// forever.
  static Placement compare_and_place(const World& world, const std::vector<Line>& identity,
                                     const TrainerOptions& options) {
    check_same(world, lines_of_run(options, identity));
    world.agree([&] { check_fields(options); });
    return find_placement(world, options.execution, options.reduce);
  }

  /// Description of the models of the run, without results and digest.
  ModelDescription description() const {
    ModelDescription description = description_;
    description.options = facts_.options;
    return description;
  }

  void prepare_rollback() {
    session_.world().agree([&] {
      if (checkpointer_) return;
      throw Error(Category::usage, "rollback needs checkpoints, and this run writes none", "on-nan");
    });
    const InStage in(watch_of(session_.world()), Stage::checkpoint);
    checkpointer_->ensure_one();
  }

  std::unique_ptr<CompiledGraph> compile(bool training) const {
    const TrainerOptions& options = run_.options;
    return session_.planned([&] {
      return session_.backend().compile(
          build_graph(run_.network), run_.layout,
          {.samples = static_cast<int>(run_.micro_batch()),
           .training = training,
           .task = run_.train.task(),
           .label_smoothing = training ? static_cast<float>(options.label_smoothing) : 0.0F,
           .frozen = frozen_parameters(run_.network.parameters(), options.optimizer.freeze),
           .recompute = options.execution.recompute_activations});
    });
  }

  /// `part`: name of the data set in messages.
  std::unique_ptr<Evaluator> make_evaluator(const Dataset& dataset, const std::string& part) const {
    session_.world().agree([&] {
      check_part(run_.network, run_.train, dataset, part);
      const Transform checked(run_.options.input, dataset, {});
    });
    return std::make_unique<Evaluator>(session_, *evaluation_graph_, dataset, run_.micro_batch(),
                                       state_.results(), run_.options.input, rounds_of(dataset));
  }

  std::uint64_t rounds_of(const Dataset& dataset) const {
    return evaluation_rounds(session_, run_.network, dataset.size(), run_.micro_batch());
  }

  /// Number of files and connections that steps open in addition to those open before the first step: samples
  /// that threads read at the same time, MPI connections to ranks of other hosts, and the files of the
  /// record, of checkpoints and of libraries.
  std::size_t files_of_steps() const {
    const World& world = session_.world();
    const int connections = 2 * (world.size() - world.local_size());
    constexpr int others = 32;
    return static_cast<std::size_t>(session_.backend().threads() + connections + others);
  }

  std::vector<Line> identity_;
  Placement placement_;
  Run run_;
  Session session_;
  std::unique_ptr<CompiledGraph> training_graph_;
  std::unique_ptr<CompiledGraph> evaluation_graph_;
  TrainingState state_;
  TrainingSteps steps_;
  Evaluator test_evaluator_;
  std::unique_ptr<Evaluator> validation_evaluator_;  ///< null without a validation set
  EpochLoop loop_;
  const RunHooks& hooks_;
  bool resumed_ = false;
  CheckpointState facts_;                       ///< equal in all checkpoints of the run
  ModelDescription description_;                ///< without the options, which facts_ has
  std::unique_ptr<Checkpointer> checkpointer_;  ///< null: no checkpoints
};

Trainer::Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
                 const TrainerOptions& options, const Dataset* validation)
    : implementation_(
          std::make_unique<Implementation>(*this, world, network, train, test, options, validation)) {}
Trainer::~Trainer() = default;

void Trainer::fit() { implementation_->fit(); }
Evaluation Trainer::evaluate(const Dataset& dataset) { return implementation_->evaluate(dataset); }
StepTimes Trainer::steps(int max) {
  if (max < 0) {
    throw Error(Category::usage, "steps() was called for " + std::to_string(max) + ": give at least 0");
  }
  return implementation_->loop().run_steps(static_cast<std::uint64_t>(max));
}
std::vector<std::string> Trainer::load(const ModelFile& file, const LoadOptions& options) {
  return implementation_->load(file, options);
}
void Trainer::save(const std::string& file, const std::map<std::string, std::string>& metadata) const {
  implementation_->save(file, metadata);
}
void Trainer::describe(RunFacts facts) { implementation_->describe(std::move(facts)); }
void Trainer::check_checkpoint_space(const std::filesystem::path& folder) {
  implementation_->check_checkpoint_space(folder);
}
std::vector<std::string> Trainer::write_checkpoints(const std::filesystem::path& folder,
                                                    const CheckpointOptions& options) {
  return implementation_->write_checkpoints(folder, options);
}
std::vector<std::string> Trainer::resume(const std::filesystem::path& checkpoint, bool force) {
  return implementation_->resume(checkpoint, force);
}
bool Trainer::done() const { return implementation_->loop().position().done(); }
std::uint64_t Trainer::step() const { return implementation_->state().progress.step; }
int Trainer::epochs() const { return implementation_->loop().position().epochs(); }
std::uint64_t Trainer::pass_until() const { return implementation_->state().progress.pass_until; }
BestEpoch Trainer::best() const { return implementation_->loop().position().best(); }
bool Trainer::stopped_early() const { return implementation_->loop().position().stopped_early(); }
std::string Trainer::digest() const { return implementation_->state().digest(); }
int Trainer::micro_batches() const { return implementation_->run().options.batch.micro_batches; }
int Trainer::threads() const { return implementation_->session().backend().threads(); }
std::string Trainer::transport() const { return implementation_->session().between_devices().name(); }
Reduce Trainer::reduce() const { return implementation_->run().options.reduce; }
DeviceKind Trainer::device() const { return implementation_->run().options.execution.device; }
std::string Trainer::processor() const { return implementation_->session().backend().name(); }
std::string Trainer::processors() const {
  const Placement& placement = implementation_->session().placement();
  if (!placement.some_cuda) return "CPU";
  if (placement.all_cuda) return processor();
  return device() == DeviceKind::cuda ? "CPU and " + processor() : "CPU and GPU";
}
std::string Trainer::engines() const { return implementation_->session().backend().engines(); }
std::uint64_t Trainer::steps_per_epoch() const { return implementation_->run().epoch.steps; }

}  // namespace lockstep
