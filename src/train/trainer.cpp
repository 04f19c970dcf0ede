#include "lockstep/trainer.h"

#include <fmt/format.h>

#include <optional>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "optim/segments.h"
#include "reduce/buckets.h"
#include "train/agreed.h"
#include "train/check_options.h"
#include "train/epoch_loop.h"
#include "train/fit.h"
#include "train/model_state.h"
#include "train/same_run.h"
#include "train/session/session.h"
#include "train/training_steps.h"
#include "train/updater.h"

namespace lockstep {

class Trainer::Implementation {
 public:
  Implementation(Trainer& owner, const World& world, const Network& network, const Dataset& train,
                 const Dataset& test, const TrainerOptions& options)
      : owner_(owner),
        world_(world),
        network_(network),
        train_(train),
        test_(test),
        placement_(compared_and_placed(options)),
        options_(resolve(options)),
        graph_(build_graph(network)),
        layout_(layout_arena(network.parameters())),
        learning_rate_(agreed(world,
                              [&] {
                                return LearningRate(options_.schedule, options_.learning_rate,
                                                    steps_per_epoch(), options_.epochs);
                              })),
        session_(world, placement_, options_.execution),
        state_(session_.backend(), network_, layout_, session_.allocate_arena(layout_.elements),
               options_.model_ema_decay > 0.0 ? session_.allocate_arena(layout_.elements) : Buffer()),
        table_(session_.device(), placement_.steps_at_once),
        updater_(agreed(world, [&] { return make_updater(); })),
        loader_(train, static_cast<std::uint32_t>(options_.batch_size / options_.micro_batches),
                options_.input, {.training = true, .seed = options_.seed}),
        graph_for_training_(session_.planned([&] { return compile(true); })),
        graph_for_evaluation_(session_.planned([&] { return compile(false); })),
        evaluator_(session_.planned([&] { return make_evaluator(test); })) {
    world.agree([&] {  // ranks may share the arena: none may read it before all have written
      state_.initialize(options_.seed);
    });
    state_.start_averages();
    runners_ = session_.planned([&] {
      std::vector<std::unique_ptr<LeafRunner>> runners;
      for (std::size_t e = 0; e < session_.device().streams().size(); ++e) {
        runners.push_back(graph_for_training_->make_runner(loader_, table_.log()));
      }
      return runners;
    });
    steps_.emplace(TrainingStepsOptions{.world = world,
                                        .learning_rate = learning_rate_,
                                        .epoch = epoch_steps(),
                                        .seed = options_.seed,
                                        .averages = options_.model_ema_decay > 0.0,
                                        .loader = loader_,
                                        .context = {.backend = session_.backend(),
                                                    .communicator = session_.between_devices(),
                                                    .updater = *updater_,
                                                    .table = table_,
                                                    .reduce = options_.reduce,
                                                    .rank_weights = options_.execution.rank_weights,
                                                    .parameters = state_.parameters(),
                                                    .buckets = buckets_,
                                                    .runners = runners_}});
    loop_.emplace(session_, options_, *steps_, *evaluator_, state_, progress_,
                  LoopObservers{owner_.on_step, owner_.on_epoch, owner_.ask, owner_.act});
  }

  void fit() {
    while (!loop_->done() && loop_->run_epoch()) {
    }
  }

  Evaluation evaluate(const Dataset& dataset) {
    steps_->gather_averages();
    Evaluation evaluation = &dataset == &test_ ? evaluator_->run() : run_evaluator(dataset);
    check_read(world_, evaluation, "samples");
    return evaluation;
  }

  std::uint64_t steps_per_epoch() const {
    const auto batch = static_cast<std::uint64_t>(options_.batch_size);
    return options_.drop_last ? train_.size() / batch : (train_.size() + batch - 1) / batch;
  }

  EpochSteps epoch_steps() const {
    return {.steps = steps_per_epoch(),
            .batch = static_cast<std::uint64_t>(options_.batch_size),
            .samples = train_.size()};
  }

  const TrainerOptions& options() const { return options_; }
  const Backend& backend() const { return session_.backend(); }
  const ModelState& state() const { return state_; }
  EpochLoop& loop() { return *loop_; }
  const EpochLoop& loop() const { return *loop_; }
  const Progress& progress() const { return progress_; }
  std::string transport() const { return session_.between_devices().name(); }

  void load(const ModelFile& file, const LoadOptions& options) {
    // Ranks may share the arena, where the last to write would win unseen.
    check_same_run(world_, given_to_load(file, options));
    world_.agree([&] { state_.load(file, options); });
    state_.start_averages();
    EpochChecks(world_, session_.between_hosts()).same_parameters(state_.hash());
  }

 private:
  /// Ranks that were given different things would wait for each other for ever later on.
  Placement compared_and_placed(const TrainerOptions& options) const {
    check_same_run(world_, agreed(world_, [&] { return given_to(options, network_, train_, test_); }));
    return find_placement(world_, options.execution, options.reduce);
  }

  std::unique_ptr<Updater> make_updater() {
    return std::make_unique<Updater>(session_.backend(), session_.between_devices(),
                                     UpdaterOptions{.parameters = network_.parameters(),
                                                    .layout = layout_,
                                                    .optimizer = options_.optimizer,
                                                    .sharded = options_.reduce == Reduce::canonical,
                                                    .values = state_.parameters(),
                                                    .averages = state_.averages(),
                                                    .average_decay = options_.model_ema_decay,
                                                    .log = table_.concluded()});
  }

  std::unique_ptr<Evaluator> make_evaluator(const Dataset& dataset) {
    return std::make_unique<Evaluator>(session_.backend(), session_.between_hosts(), *graph_for_evaluation_,
                                       dataset, loader_.micro_batch(), state_.results(), options_.input);
  }
  Evaluation run_evaluator(const Dataset& dataset) {
    return session_
        .planned([&] {
          check_fit(network_, dataset);
          return make_evaluator(dataset);
        })
        ->run();
  }

  /// The options with what was left open.
  TrainerOptions resolve(TrainerOptions options) const {
    options.execution.device = name_of(placement_.device);
    options.reduce = placement_.reduce;
    world_.agree([&] {
      if (options.micro_batches == 0 && options.batch_size > 0) {
        options.micro_batches = default_micro_batches(options.batch_size, placement_.common_device());
      }
      check_options(options, world_.size(), train_.size());
      check_fit(network_, train_);
      check_fit(network_, test_);
      const Transform checked(options.input, train_, {.training = true, .seed = options.seed});
    });
    return options;
  }

  std::unique_ptr<CompiledGraph> compile(bool training) const {
    return session_.backend().compile(
        graph_, layout_,
        {.samples = options_.batch_size / options_.micro_batches,
         .training = training,
         .mixing = training && loader_.transform().mixes(),
         .label_smoothing = training ? options_.label_smoothing : 0.0F,
         .images = train_.shape(),
         .frozen = frozen_parameters(network_.parameters(), options_.optimizer.freeze)});
  }

  Trainer& owner_;
  const World& world_;
  const Network& network_;
  const Dataset& train_;
  const Dataset& test_;
  Placement placement_;
  TrainerOptions options_;
  Graph graph_;
  ArenaLayout layout_;
  LearningRate learning_rate_;
  Session session_;
  ModelState state_;
  StepTable table_;
  std::unique_ptr<Updater> updater_;
  Loader loader_;
  std::unique_ptr<CompiledGraph> graph_for_training_;
  std::unique_ptr<CompiledGraph> graph_for_evaluation_;
  std::unique_ptr<Evaluator> evaluator_;
  std::vector<std::unique_ptr<LeafRunner>> runners_;
  std::vector<std::size_t> buckets_{cut_into_buckets(layout_.offsets, layout_.elements)};
  std::optional<TrainingSteps> steps_;
  Progress progress_;
  std::optional<EpochLoop> loop_;
};

Trainer::Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
                 const TrainerOptions& options)
    : implementation_(std::make_unique<Implementation>(*this, world, network, train, test, options)) {}
Trainer::~Trainer() = default;

void Trainer::fit() { implementation_->fit(); }
Evaluation Trainer::evaluate(const Dataset& dataset) { return implementation_->evaluate(dataset); }
StepTimes Trainer::steps(int most) {
  return implementation_->loop().run_steps(static_cast<std::uint64_t>(most));
}
void Trainer::load(const ModelFile& file, const LoadOptions& options) {
  implementation_->load(file, options);
}
void Trainer::save(const std::string& file, const std::map<std::string, std::string>& metadata) const {
  implementation_->state().save(file, metadata);
}
BestEpoch Trainer::best() const { return implementation_->progress().best; }
bool Trainer::stopped_early() const { return implementation_->loop().stopped_early(); }
std::string Trainer::digest() const { return implementation_->state().digest(); }
int Trainer::micro_batches() const { return implementation_->options().micro_batches; }
int Trainer::threads() const { return implementation_->backend().threads(); }
std::string Trainer::transport() const { return implementation_->transport(); }
Reduce Trainer::reduce() const { return implementation_->options().reduce; }
std::string Trainer::device() const { return implementation_->options().execution.device; }
std::string Trainer::processor() const { return implementation_->backend().name(); }
std::string Trainer::engines() const { return implementation_->backend().engines(); }
std::uint64_t Trainer::steps_per_epoch() const { return implementation_->steps_per_epoch(); }

}  // namespace lockstep
