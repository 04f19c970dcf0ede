#include "lockstep/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "core/hash.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "optim/segments.h"
#include "train/backend.h"
#include "train/best_epoch.h"
#include "train/check_options.h"
#include "train/evaluator.h"
#include "train/fit.h"
#include "train/parameter_set.h"
#include "train/same_run.h"
#include "train/step_program.h"
#include "train/updater.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

/// What `make` returns, once it has succeeded on every rank. If ranks meet in it, nothing that only one of
/// them can fail at comes before.
template <class Make>
auto agreed(const World& world, const Make& make) {
  std::optional<decltype(make())> made;
  world.agree([&] { made.emplace(make()); });
  return std::move(*made);
}

}  // namespace

class Trainer::Implementation {
 public:
  Implementation(Trainer& owner, const World& world, const Network& network, const Dataset& train,
                 const Dataset& test, const TrainerOptions& options)
      : owner_(owner),
        world_(world),
        network_(network),
        train_(train),
        test_(test),
        options_(resolve(options, world, network, train, test)),
        graph_(build_graph(network)),
        layout_(layout_arena(network.parameters())),
        learning_rate_(agreed(world,
                              [&] {
                                return LearningRate(options_.schedule, options_.learning_rate,
                                                    steps_per_epoch(), options_.epochs);
                              })),
        backend_(agreed(world, [&] { return make_cpu_backend(world, options_.threads, options_.simd); })),
        communicator_(connect()),
        parameters_(allocate_arena()),
        averages_(options_.model_ema_decay > 0.0 ? allocate_arena() : Buffer()),
        parameter_set_(network_, layout_, parameters_.floats()),
        result_set_(network_, layout_, results()),
        updater_(agreed(world, [&] { return make_updater(); })),
        loader_(train, static_cast<std::uint32_t>(options_.batch_size / options_.micro_batches),
                options_.input, {.training = true, .seed = options_.seed}),
        plan_(agreed(world, [&] { return compile(true); })),
        evaluation_plan_(agreed(world, [&] { return compile(false); })),
        evaluator_(agreed(world, [&] { return make_evaluator(test); })) {
    world.agree([&] {  // ranks may share the arena: none may read it before all have written
      initialize_parameters(network_.parameters(), layout_, options_.seed, parameters_.floats().data());
    });
    start_averages();
    world.agree([&] {
      for (std::size_t e = 0; e < backend_.device->streams().size(); ++e) {
        runners_.push_back(std::make_unique<LeafRunner>(*backend_.device, *plan_, loader_));
      }
    });
  }

  void fit() {
    for (int epoch = 1; epoch <= options_.epochs && !done(); ++epoch) {
      if (best_.exhausted()) {
        stopped_early_ = true;
        return;
      }
      run_epoch(epoch);
    }
  }

  Evaluation evaluate(const Dataset& dataset) {
    updater_->gather_averages();
    Evaluation evaluation = &dataset == &test_ ? evaluator_->run() : run_evaluator(dataset);
    check_read(world_, evaluation, "samples");
    return evaluation;
  }

  StepTimes step() {
    const std::uint64_t position = step_ % steps_per_epoch();
    if (position == 0) {
      loader_.shuffle(options_.seed, static_cast<std::uint32_t>(step_ / steps_per_epoch()));
    }
    return run_step(position);
  }

  std::uint64_t steps_per_epoch() const {
    const auto batch = static_cast<std::uint64_t>(options_.batch_size);
    return options_.drop_last ? train_.size() / batch : (train_.size() + batch - 1) / batch;
  }

  const TrainerOptions& options() const { return options_; }
  const Backend& backend() const { return backend_; }
  const ParameterSet& parameter_set() const { return parameter_set_; }
  const ParameterSet& result_set() const { return result_set_; }
  BestEpoch best() const { return best_.best(); }
  bool stopped_early() const { return stopped_early_; }
  std::string transport() const { return communicator_->name(); }

  void load(const ModelFile& file, const LoadOptions& options) {
    // Ranks may share the arena, where the last to write would win unseen.
    check_same_run(world_, *communicator_, given_to_load(file, options));
    world_.agree([&] { parameter_set_.load(file, options); });
    start_averages();
    check_replicas();
  }

 private:
  /// One copy serves all ranks of a host where each element has one rank that updates it; steps and
  /// evaluations of the ranks are never so far apart that one reads while another updates.
  Buffer allocate_arena() {
    Buffer arena;
    if (options_.reduce == Reduce::canonical) arena = communicator_->common_arena(layout_.elements);
    if (arena.data() != nullptr) return arena;
    return agreed(world_, [&] { return backend_.device->allocate(layout_.elements * sizeof(float)); });
  }

  /// Ranks that were given different things would wait for each other for ever later on.
  std::unique_ptr<Communicator> connect() {
    auto communicator = make_communicator(world_, options_.transport);
    check_same_run(world_, *communicator,
                   agreed(world_, [&] { return given_to(options_, network_, train_, test_); }));
    return communicator;
  }

  std::unique_ptr<Updater> make_updater() {
    return std::make_unique<Updater>(*backend_.device, *communicator_,
                                     UpdaterOptions{.parameters = network_.parameters(),
                                                    .layout = layout_,
                                                    .optimizer = options_.optimizer,
                                                    .sharded = options_.reduce == Reduce::canonical,
                                                    .values = parameters_.floats(),
                                                    .averages = averages_.floats(),
                                                    .average_decay = options_.model_ema_decay});
  }

  /// What is evaluated and saved.
  std::span<float> results() const {
    return options_.model_ema_decay > 0.0 ? averages_.floats() : parameters_.floats();
  }
  void start_averages() const {
    if (options_.model_ema_decay > 0.0) std::ranges::copy(parameters_.floats(), averages_.floats().begin());
  }

  std::unique_ptr<Evaluator> make_evaluator(const Dataset& dataset) {
    return std::make_unique<Evaluator>(*backend_.device, *communicator_, *evaluation_plan_, dataset,
                                       loader_.micro_batch(), results(), options_.input);
  }
  Evaluation run_evaluator(const Dataset& dataset) {
    return agreed(world_,
                  [&] {
                    check_fit(network_, dataset);
                    return make_evaluator(dataset);
                  })
        ->run();
  }

  static TrainerOptions resolve(TrainerOptions options, const World& world, const Network& network,
                                const Dataset& train, const Dataset& test) {
    if (options.micro_batches == 0 && options.batch_size > 0) {
      options.micro_batches = default_micro_batches(options.batch_size);
    }
    world.agree([&] {
      check_options(options, world.size(), train.size());
      check_fit(network, train);
      check_fit(network, test);
      const Transform checked(options.input, train, {.training = true, .seed = options.seed});
    });
    return options;
  }

  std::unique_ptr<Plan> compile(bool training) const {
    return backend_.compile(graph_, layout_,
                            {.samples = options_.batch_size / options_.micro_batches,
                             .training = training,
                             .mixing = training && loader_.transform().mixes(),
                             .label_smoothing = training ? options_.label_smoothing : 0.0F,
                             .images = train_.shape(),
                             .frozen = frozen_parameters(network_.parameters(), options_.optimizer.freeze)});
  }

  bool done() const { return options_.max_steps != 0 && step_ >= options_.max_steps; }

  std::uint64_t total_steps() const {
    const std::uint64_t all = steps_per_epoch() * static_cast<std::uint64_t>(options_.epochs);
    return options_.max_steps == 0 ? all : std::min(all, options_.max_steps);
  }

  /// Samples of the step at `position` in its epoch.
  std::uint64_t samples_at(std::uint64_t position) const {
    const auto batch = static_cast<std::uint64_t>(options_.batch_size);
    return std::min(batch, train_.size() - position * batch);
  }

  void run_epoch(int epoch) {
    loader_.shuffle(options_.seed, static_cast<std::uint32_t>(epoch - 1));
    const VisitSum before = own_visits();
    LeafResult sum;
    std::uint64_t samples = 0;
    StepTimes work;
    const auto start = Clock::now();
    std::uint64_t position = 0;
    for (; position < steps_per_epoch() && !done(); ++position) {
      const StepTimes times = run_step(position);
      for (const LeafResult& result : program_->results()) {
        sum.loss += result.loss;
        sum.correct += result.correct;
        sum.samples += result.samples;
      }
      samples += samples_at(position);
      work.load += times.load;
      work.total += times.load + times.forward + times.backward + times.fold;
      report_step(epoch, times);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    Evaluation train = summarize({&sum, 1});
    train.left_out = samples - train.samples;
    check_read(world_, train, fmt::format("training samples of epoch {}", epoch));
    if (position == steps_per_epoch()) {
      check_visits(before, samples, static_cast<std::uint32_t>(epoch - 1));
    }
    updater_->gather_averages();
    check_replicas();
    EpochReport report{.epoch = epoch,
                       .epochs = options_.epochs,
                       .train = train,
                       .test = evaluator_->run(),
                       .steps = position,
                       .seconds = seconds,
                       .load_seconds = work.load,
                       .load_share = work.total > 0.0 ? work.load / work.total : 0.0};
    check_read(world_, report.test, "test samples");
    check_finite(report.test.loss, "test loss");
    report.best = best_.add(epoch, report.test.accuracy);
    if (owner_.on_epoch) {
      owner_.on_epoch(report);
    }
  }

  StepTimes run_step(std::uint64_t position) {
    auto start = Clock::now();
    const std::uint64_t samples = samples_at(position);
    StepTimes times;
    for (const auto& runner : runners_) {
      runner->seconds = {};
    }
    loader_.set_step(position * static_cast<std::uint64_t>(options_.batch_size), samples);
    program_ = &program_for(loader_.leaves(samples));
    ++step_;
    program_->run({.learning_rate = learning_rate_.at(step_), .number = step_});
    check_finite(summarize(program_->results()).loss, "loss");
    check_finite(updater_->gradient_norm(), "norm of the gradient");
    for (const auto& runner : runners_) {
      times.load += runner->seconds.load;
      times.forward += runner->seconds.forward;
      times.backward += runner->seconds.backward;
    }
    times.fold = program_->fold_seconds();
    times.reduce = program_->reduce_seconds();
    times.update = program_->update_seconds();
    times.samples = samples;
    times.total = lap(start);
    return times;
  }

  /// Programs are recorded when first needed: one for full steps, one for the last, short step of an epoch.
  StepProgram& program_for(std::uint32_t leaves) {
    for (const auto& [count, program] : programs_) {
      if (count == leaves) {
        return *program;
      }
    }
    const StepContext context{*backend_.device,     *communicator_, *updater_,          options_.reduce,
                              parameters_.floats(), runners_,       world_.local_size()};
    programs_.emplace_back(
        leaves, agreed(world_, [&] { return std::make_unique<StepProgram>(context, arenas_, leaves); }));
    return *programs_.back().second;
  }

  void check_finite(double value, const char* name) const {
    if (!std::isfinite(value)) {
      world_.agree([&] {  // every rank knows, one prints
        throw Error(
            Category::data,
            fmt::format("the {} became {} at step {} with learning rate {}: try a smaller learning rate",
                        name, std::fabs(value), step_, learning_rate_.at(step_)));
      });
    }
  }

  void report_step(int epoch, const StepTimes& times) const {
    if (owner_.on_step) {
      const Evaluation sum = summarize(program_->results());
      owner_.on_step(
          {epoch, step_, total_steps(), sum.samples, sum.loss, learning_rate_.at(step_), times.total});
    }
  }

  VisitSum own_visits() const {
    VisitSum sum;
    for (const auto& runner : runners_) {
      sum.add(runner->visits);
    }
    return sum;
  }

  /// Same 16 bytes of every rank, in rank order.
  std::vector<std::array<std::uint64_t, 2>> gather(std::array<std::uint64_t, 2> own) const {
    std::vector<std::array<std::uint64_t, 2>> all(static_cast<std::size_t>(world_.size()));
    const std::vector<std::size_t> bytes(all.size(), sizeof own);
    communicator_->all_gather_bytes(std::as_bytes(std::span(own)), bytes,
                                    std::as_writable_bytes(std::span(all)));
    return all;
  }

  /// Each sample of the epoch was visited exactly once, on some rank; `before`: this rank's sum before it.
  void check_visits(const VisitSum& before, std::uint64_t samples, std::uint32_t epoch) {
    VisitSum left_out;
    const Permutation order(train_.size(), options_.seed, epoch);
    for (std::uint64_t position = samples; position < train_.size(); ++position) {
      left_out.add(order(position));
    }
    VisitSum earlier;
    VisitSum now;
    for (const auto& words : gather(before.words())) {
      earlier.add(VisitSum::from_words(words));
    }
    for (const auto& words : gather(own_visits().words())) {
      now.add(VisitSum::from_words(words));
    }
    earlier.add(VisitSum::expected(train_.size()));
    now.add(left_out);
    world_.agree([&] {
      if (now != earlier) {
        throw Error(Category::internal, "the samples of an epoch were not each visited exactly once");
      }
    });
  }

  /// The parameters of all ranks are equal, bit by bit, and so are their averages.
  void check_replicas() const {
    Digest hash;
    hash.update(std::span<const float>(parameters_.floats()));
    hash.update(std::span<const float>(averages_.floats()));
    const auto all = gather(hash.words());
    const auto other =
        std::find_if(all.begin(), all.end(), [&](const auto& words) { return words != all[0]; });
    if (other != all.end()) {
      world_.agree([&] {
        throw Error(Category::internal,
                    fmt::format("the parameters of rank {} differ from rank 0's", other - all.begin()));
      });
    }
  }

  Trainer& owner_;
  const World& world_;
  const Network& network_;
  const Dataset& train_;
  const Dataset& test_;
  TrainerOptions options_;
  Graph graph_;
  ArenaLayout layout_;
  LearningRate learning_rate_;
  Backend backend_;
  std::unique_ptr<Communicator> communicator_;
  Buffer parameters_;
  Buffer averages_;
  ParameterSet parameter_set_;
  ParameterSet result_set_;
  std::unique_ptr<Updater> updater_;
  Loader loader_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Plan> evaluation_plan_;
  std::unique_ptr<Evaluator> evaluator_;
  std::vector<std::unique_ptr<LeafRunner>> runners_;
  GradientArenas arenas_;
  std::vector<std::pair<std::uint32_t, std::unique_ptr<StepProgram>>> programs_;
  StepProgram* program_ = nullptr;
  std::uint64_t step_ = 0;
  BestEpochTracker best_{options_.early_stopping};
  bool stopped_early_ = false;
};

Trainer::Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
                 const TrainerOptions& options)
    : implementation_(std::make_unique<Implementation>(*this, world, network, train, test, options)) {}
Trainer::~Trainer() = default;

void Trainer::fit() { implementation_->fit(); }
Evaluation Trainer::evaluate(const Dataset& dataset) { return implementation_->evaluate(dataset); }
StepTimes Trainer::step() { return implementation_->step(); }
void Trainer::load(const ModelFile& file, const LoadOptions& options) {
  implementation_->load(file, options);
}
void Trainer::save(const std::string& file, const std::map<std::string, std::string>& metadata) const {
  implementation_->result_set().save(file, metadata);
}
BestEpoch Trainer::best() const { return implementation_->best(); }
bool Trainer::stopped_early() const { return implementation_->stopped_early(); }
std::string Trainer::digest() const { return implementation_->parameter_set().digest(); }
int Trainer::micro_batches() const { return implementation_->options().micro_batches; }
int Trainer::threads() const { return implementation_->backend().threads; }
std::string Trainer::transport() const { return implementation_->transport(); }
std::string Trainer::simd() const { return implementation_->backend().simd; }
std::uint64_t Trainer::steps_per_epoch() const { return implementation_->steps_per_epoch(); }

}  // namespace lockstep
