#include "lockstep/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "core/hash.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/backend.h"
#include "train/evaluator.h"
#include "train/fit.h"
#include "train/parameter_set.h"
#include "train/same_run.h"
#include "train/step_program.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

void check_options(const TrainerOptions& options, const World& world, std::uint64_t train_size) {
  const auto refuse = [](const std::string& message) { throw Error(Category::usage, message); };
  if (options.batch_size < 1) {
    refuse(fmt::format("batch size must be at least 1, not {}", options.batch_size));
  }
  if (options.epochs < 0) {
    refuse(fmt::format("epochs must be at least 0, not {}", options.epochs));
  }
  if (options.threads < 0) {
    refuse(fmt::format("threads must be at least 1 (or 0: automatic), not {}", options.threads));
  }
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0.0F) {
    refuse(fmt::format("learning rate must be a number of at least 0, not {}", options.learning_rate));
  }
  if (options.micro_batches < 0 || options.batch_size % options.micro_batches != 0) {
    refuse(fmt::format("batch size {} is not divisible by {} micro-batches", options.batch_size,
                       options.micro_batches));
  }
  if (world.size() > options.micro_batches) {
    refuse(
        fmt::format("{} ranks are more than {} micro-batches: start at most {} ranks, or use more "
                    "micro-batches (a divisor of the batch size {})",
                    world.size(), options.micro_batches, options.micro_batches, options.batch_size));
  }
  if (options.drop_last && train_size < static_cast<std::uint64_t>(options.batch_size)) {
    refuse(fmt::format("dropping the last short batch of {} leaves none of the {} samples",
                       options.batch_size, train_size));
  }
}

/// What `make` returns, once it has succeeded on every rank. If ranks meet in it, nothing that only one of
/// them can fail at comes before.
template <class Make>
auto agreed(const World& world, const Make& make) {
  std::optional<decltype(make())> made;
  world.agree([&] { made.emplace(make()); });
  return std::move(*made);
}

}  // namespace

int default_micro_batches(int batch_size) {
  constexpr int smallest_micro_batch = 32;
  int count = 1;
  while (batch_size % (2 * count) == 0 && batch_size / (2 * count) >= smallest_micro_batch) {
    count *= 2;
  }
  return count;
}

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
        optimizer_(agreed(world,
                          [&] {
                            return make_optimizer(
                                options_.optimizer,
                                {options_.momentum, options_.weight_decay, options_.nesterov, options_.beta1,
                                 options_.beta2, options_.eps});
                          })),
        learning_rate_(agreed(world,
                              [&] {
                                return LearningRate(options_.schedule, options_.learning_rate,
                                                    steps_per_epoch(), options_.epochs);
                              })),
        backend_(agreed(world, [&] { return make_cpu_backend(world, options_.threads, options_.simd); })),
        communicator_(make_communicator(world, options_.transport)),
        parameters_(allocate_parameters()),
        parameter_set_(network_.parameters(), layout_, parameters_.floats()),
        loader_(train, static_cast<std::uint32_t>(options_.batch_size / options_.micro_batches),
                options_.input, {.training = true, .seed = options_.seed}),
        plan_(agreed(world, [&] { return compile(true); })),
        evaluation_plan_(agreed(world, [&] { return compile(false); })),
        evaluator_(agreed(world, [&] { return make_evaluator(test); })) {
    check_same_run(world, *communicator_, given_to(options_, network, train, test));
    initialize_parameters(network_.parameters(), layout_, options_.seed, parameters_.floats().data());
    world.agree([&] {
      for (std::size_t e = 0; e < backend_.device->streams().size(); ++e) {
        runners_.push_back(std::make_unique<LeafRunner>(*backend_.device, *plan_, loader_));
      }
    });
  }

  void fit() {
    for (int epoch = 1; epoch <= options_.epochs && !done(); ++epoch) {
      run_epoch(epoch);
    }
  }

  Evaluation evaluate(const Dataset& dataset) {
    if (&dataset == &test_) {
      return evaluator_->run();
    }
    return agreed(world_,
                  [&] {
                    check_fit(network_, dataset);
                    return make_evaluator(dataset);
                  })
        ->run();
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
  std::string transport() const { return communicator_->name(); }

  void load(const ModelFile& file) {
    world_.agree([&] { parameter_set_.load(file); });
    check_replicas();
  }

 private:
  /// One copy serves all ranks of a host where each element has one rank that updates it; steps and
  /// evaluations of the ranks are never so far apart that one reads while another updates.
  Buffer allocate_parameters() {
    Buffer arena;
    if (options_.reduce == Reduce::canonical) arena = communicator_->common_arena(layout_.elements);
    if (arena.data() != nullptr) return arena;
    return agreed(world_, [&] { return backend_.device->allocate(layout_.elements * sizeof(float)); });
  }

  std::unique_ptr<Evaluator> make_evaluator(const Dataset& dataset) {
    return std::make_unique<Evaluator>(*backend_.device, *communicator_, *evaluation_plan_, dataset,
                                       loader_.micro_batch(), parameters_.floats(), options_.input);
  }
  static TrainerOptions resolve(TrainerOptions options, const World& world, const Network& network,
                                const Dataset& train, const Dataset& test) {
    if (options.micro_batches == 0 && options.batch_size > 0) {
      options.micro_batches = default_micro_batches(options.batch_size);
    }
    world.agree([&] {
      check_options(options, world, train.size());
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
                             .images = train_.shape()});
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
      report_step(epoch, position, times);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (position == steps_per_epoch()) {
      check_visits(before, samples, static_cast<std::uint32_t>(epoch - 1));
    }
    check_replicas();
    const EpochReport report{epoch,
                             options_.epochs,
                             summarize({&sum, 1}),
                             evaluator_->run(),
                             seconds,
                             work.total > 0.0 ? work.load / work.total : 0.0};
    check_loss(report.test.loss, "test loss");
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
    program_->run({.gradient_scale = 1.0F / static_cast<float>(samples),
                   .learning_rate = learning_rate_.at(step_),
                   .number = step_});
    check_loss(summarize(program_->results()).loss, "loss");
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
    const StepContext context{*backend_.device,     *communicator_, *optimizer_,        options_.reduce,
                              parameters_.floats(), runners_,       world_.local_size()};
    programs_.emplace_back(leaves, agreed(world_, [&] {
                             return std::make_unique<StepProgram>(context, states_, arenas_, leaves);
                           }));
    return *programs_.back().second;
  }

  void check_loss(double loss, const char* name) const {
    if (!std::isfinite(loss)) {
      world_.agree([&] {  // every rank knows, one prints
        throw Error(
            Category::data,
            fmt::format("the {} became {} at step {} with learning rate {}: try a smaller learning rate",
                        name, loss, step_, learning_rate_.at(step_)));
      });
    }
  }

  void report_step(int epoch, std::uint64_t position, const StepTimes& times) const {
    if (owner_.on_step) {
      const std::uint64_t samples = samples_at(position);
      owner_.on_step({epoch, step_, total_steps(), samples, summarize(program_->results()).loss,
                      learning_rate_.at(step_), times.total});
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

  /// The parameters of all ranks are equal, bit by bit.
  void check_replicas() const {
    Digest hash;
    hash.update(std::span<const float>(parameters_.floats()));
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
  std::unique_ptr<Optimizer> optimizer_;
  LearningRate learning_rate_;
  Backend backend_;
  std::unique_ptr<Communicator> communicator_;
  Buffer parameters_;
  ParameterSet parameter_set_;
  Loader loader_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Plan> evaluation_plan_;
  std::unique_ptr<Evaluator> evaluator_;
  std::vector<std::unique_ptr<LeafRunner>> runners_;
  OptimizerStates states_;
  GradientArenas arenas_;
  std::vector<std::pair<std::uint32_t, std::unique_ptr<StepProgram>>> programs_;
  StepProgram* program_ = nullptr;
  std::uint64_t step_ = 0;
};

Trainer::Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
                 const TrainerOptions& options)
    : implementation_(std::make_unique<Implementation>(*this, world, network, train, test, options)) {}
Trainer::~Trainer() = default;

void Trainer::fit() { implementation_->fit(); }
Evaluation Trainer::evaluate(const Dataset& dataset) { return implementation_->evaluate(dataset); }
StepTimes Trainer::step() { return implementation_->step(); }
void Trainer::load(const ModelFile& file) { implementation_->load(file); }
void Trainer::save(const std::string& file) const { implementation_->parameter_set().save(file); }
std::string Trainer::digest() const { return implementation_->parameter_set().digest(); }
int Trainer::micro_batches() const { return implementation_->options().micro_batches; }
int Trainer::threads() const { return implementation_->backend().threads; }
std::string Trainer::transport() const { return implementation_->transport(); }
std::string Trainer::simd() const { return implementation_->backend().simd; }
std::uint64_t Trainer::steps_per_epoch() const { return implementation_->steps_per_epoch(); }

}  // namespace lockstep
