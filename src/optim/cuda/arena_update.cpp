#include "optim/cuda/arena_update.h"

#include "comm/transports/scratch_memory.h"
#include "device/cuda/cuda_device.h"
#include "gradient/cuda/fold.h"
#include "optim/cuda/update.h"

namespace lockstep::cuda {
namespace {

class CudaArenaUpdate final : public ArenaUpdate {
 public:
  CudaArenaUpdate(const ArenaUpdateOptions& options, std::uint32_t* stopped)
      : options_(options),
        rule_(options.optimizer.rule()),
        tables_(options.device, options.segments, options.norms),
        memory_(tables_.update()),
        gradient_squares_(options.device.allocate(options.parameters * sizeof(double))),
        parameter_squares_(options.device.allocate(options.parameters * sizeof(double))) {
    memory_.log = options.log;
    memory_.stopped = stopped;
    const UpdatedArenas& arenas = options.arenas;
    memory_.values = arenas.values.data();
    memory_.averages = arenas.averages.data();
    memory_.average_take = static_cast<float>(1.0 - arenas.average_decay);
    memory_.first = options.first;
    for (std::size_t i = 0; i < arenas.states.size(); ++i) memory_.states.at(i) = arenas.states[i].data();
  }

  void apply(Stream& stream, const SumChunk& chunk, const Fold& fold) override {
    update(handle_of(stream), rule_, memory_, chunk.begin, chunk.size(), sum_of(stream, chunk, fold));
  }
  void measure(Stream& stream, const float* values, double* sums) override {
    const std::size_t first = options_.norms.block_at(options_.first);
    const std::size_t last = options_.norms.block_at(options_.last);
    cuda::measure(handle_of(stream), tables_.norms(), first, last - first, values, sums);
  }
  void clip(Stream& stream, const double* sums) override {
    add_blocks(handle_of(stream), tables_.norms(), sums, gradient_squares_.as<double>());
    cuda::clip(handle_of(stream), memory_, gradient_squares_.as<double>(), options_.clip_grad);
  }
  void prepare(Stream& stream, float* sum) override {
    cuda::prepare(handle_of(stream), rule_, memory_, options_.first, options_.last - options_.first, sum);
  }
  void choose_trust_ratios(Stream& stream, const double* gradient_sums,
                           const double* parameter_sums) override {
    add_blocks(handle_of(stream), tables_.norms(), gradient_sums, gradient_squares_.as<double>());
    add_blocks(handle_of(stream), tables_.norms(), parameter_sums, parameter_squares_.as<double>());
    cuda::choose_trust_ratios(handle_of(stream), rule_, memory_, parameter_squares_.as<double>(),
                              gradient_squares_.as<double>());
  }

 private:
  /// Address of the sum of the chunk's inputs; a single input is its own sum.
  const float* sum_of(Stream& stream, const SumChunk& chunk, const Fold& fold) {
    if (fold.program.size() == 1) return chunk.inputs[static_cast<std::size_t>(fold.program[0])];
    auto* const sum = reinterpret_cast<float*>(sums_.at_least(chunk.size() * sizeof(float)));
    cuda::fold(handle_of(stream), fold.program, chunk.inputs, chunk.size(), sum);
    return sum;
  }

  ArenaUpdateOptions options_;
  OptimizerRule rule_;
  UpdateTables tables_;
  UpdateMemory memory_;
  Buffer gradient_squares_, parameter_squares_;  ///< [parameter]
  ScratchMemory sums_{[this](std::size_t bytes) { return options_.device.allocate(bytes); }};
};

}  // namespace

std::unique_ptr<ArenaUpdate> make_arena_update(const ArenaUpdateOptions& options, std::uint32_t* stopped) {
  return std::make_unique<CudaArenaUpdate>(options, stopped);
}

}  // namespace lockstep::cuda
