#include "optim/cuda/arena_update.h"

#include "device/cuda/cuda_device.h"
#include "optim/cuda/update.h"

namespace lockstep::cuda {
namespace {

class CudaArenaUpdate final : public ArenaUpdate {
 public:
  CudaArenaUpdate(const ArenaUpdateOptions& options, std::uint32_t* stopped)
      : options_(options),
        rule_(make_rule(options.rule)),
        tables_(options.device, options.segments, options.norms),
        memory_(tables_.update()),
        gradient_squares_(options.device.allocate(options.parameters * sizeof(double))),
        parameter_squares_(options.device.allocate(options.parameters * sizeof(double))) {
    memory_.log = options.log;
    memory_.stopped = stopped;
    memory_.values = options.values.data();
    memory_.averages = options.averages.data();
    memory_.average_take = static_cast<float>(1.0 - options.average_decay);
    memory_.first = options.first;
    for (std::size_t i = 0; i < options.optimizer.states().size(); ++i) {
      states_.push_back(options.device.allocate((options.last - options.first) * sizeof(float)));
      memory_.states[i] = states_.back().floats().data();
    }
  }

  void apply(std::size_t begin, std::span<const float> sum) override {
    update(stream(), rule_, memory_, begin, sum.size(), sum.data());
  }
  void measure(const float* values, double* sums) override {
    const std::size_t first = options_.norms.block_at(options_.first);
    const std::size_t last = options_.norms.block_at(options_.last);
    cuda::measure(stream(), tables_.norms(), first, last - first, values, sums);
  }
  void clip(const double* sums) override {
    add_blocks(stream(), tables_.norms(), sums, gradient_squares_.as<double>());
    cuda::clip(stream(), memory_, gradient_squares_.as<double>(), options_.rule.clip_grad);
  }
  void prepare(float* sum) override {
    cuda::prepare(stream(), rule_, memory_, options_.first, options_.last - options_.first, sum);
  }
  void choose_trust_ratios(const double* gradient_sums, const double* parameter_sums) override {
    add_blocks(stream(), tables_.norms(), gradient_sums, gradient_squares_.as<double>());
    add_blocks(stream(), tables_.norms(), parameter_sums, parameter_squares_.as<double>());
    cuda::choose_trust_ratios(stream(), rule_, memory_, parameter_squares_.as<double>(),
                              gradient_squares_.as<double>());
  }

 private:
  StreamHandle stream() const { return handle_of(*options_.device.streams()[0]); }

  ArenaUpdateOptions options_;
  OptimizerRule rule_;
  UpdateTables tables_;
  UpdateMemory memory_;
  std::vector<Buffer> states_;
  Buffer gradient_squares_, parameter_squares_;  ///< of parameters
};

}  // namespace

std::unique_ptr<ArenaUpdate> make_arena_update(const ArenaUpdateOptions& options, std::uint32_t* stopped) {
  return std::make_unique<CudaArenaUpdate>(options, stopped);
}

}  // namespace lockstep::cuda
