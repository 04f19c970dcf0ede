#include "optim/cuda/cuda_arena_update.h"

#include <vector>

#include "device/cuda/cuda_device.h"
#include "optim/cuda/update.h"

namespace lockstep::cuda {
namespace {

class CudaArenaUpdate final : public ArenaUpdate {
 public:
  CudaArenaUpdate(const ArenaUpdateOptions& options, const Stream& stream, std::uint32_t* stopped)
      : stream_(stream),
        rule_(make_rule(options.rule)),
        largest_norm_(options.rule.clip_grad),
        tables_(options.device, options.segments, options.norms),
        memory_(tables_.update()),
        norms_(tables_.norms()),
        first_(options.first),
        last_(options.last),
        first_block_(options.norms.block_at(options.first)),
        blocks_(options.norms.block_at(options.last) - first_block_),
        gradient_squares_(options.device.allocate(options.parameters * sizeof(double))),
        parameter_squares_(options.device.allocate(options.parameters * sizeof(double))) {
    memory_.log = options.log;
    memory_.stopped = stopped;
    memory_.values = options.values.data();
    memory_.averages = options.averages.empty() ? nullptr : options.averages.data();
    memory_.average_keep = static_cast<float>(options.average_decay);
    memory_.average_take = static_cast<float>(1.0 - options.average_decay);
    memory_.first = first_;
    for (std::size_t i = 0; i < options.optimizer.states().size(); ++i) {
      states_.push_back(options.device.allocate((last_ - first_) * sizeof(float)));
      memory_.states[i] = states_.back().floats().data();
    }
  }

  void apply(std::size_t begin, std::span<const float> sum) override {
    update(handle(), rule_, memory_, begin, sum.size(), sum.data());
  }

  void measure(const float* values, double* sums) override {
    cuda::measure(handle(), norms_, first_block_, blocks_, values, sums);
  }

  void clip(const double* sums) override {
    add_blocks(handle(), norms_, sums, gradient_squares_.as<double>());
    cuda::clip(handle(), memory_, gradient_squares_.as<double>(), largest_norm_);
  }

  void prepare(float* sum) override {
    cuda::prepare(handle(), rule_, memory_, first_, last_ - first_, sum);
  }

  void choose_trust_ratios(const double* gradient_sums, const double* parameter_sums) override {
    add_blocks(handle(), norms_, gradient_sums, gradient_squares_.as<double>());
    add_blocks(handle(), norms_, parameter_sums, parameter_squares_.as<double>());
    cuda::choose_trust_ratios(handle(), rule_, memory_, parameter_squares_.as<double>(),
                              gradient_squares_.as<double>());
  }

 private:
  StreamHandle handle() const { return handle_of(stream_); }

  const Stream& stream_;
  OptimizerRule rule_;
  double largest_norm_;
  UpdateTables tables_;
  UpdateMemory memory_;
  NormMemory norms_;
  std::size_t first_, last_;          ///< elements that this rank updates
  std::size_t first_block_, blocks_;  ///< their blocks
  Buffer gradient_squares_, parameter_squares_;  ///< of parameters; doubles
  std::vector<Buffer> states_;
};

}  // namespace

std::unique_ptr<ArenaUpdate> make_cuda_arena_update(const ArenaUpdateOptions& options, const Stream& stream,
                                                    std::uint32_t* stopped) {
  return std::make_unique<CudaArenaUpdate>(options, stream, stopped);
}

}  // namespace lockstep::cuda
