#include "train/session/session.h"

#include "comm/gpu_communicator.h"
#include "comm/transports/staged_communicator.h"
#include "comm/world/watch_of.h"

namespace lockstep {

Session::Session(const World& world, Placement placement, const ExecutionOptions& execution, bool pin)
    : world_(world),
      placement_(std::move(placement)),
      execution_(execution),
      backend_(agreed(world,
                      [&] {
                        const BackendOptions options{.execution = execution,
                                                     .pin = pin,
                                                     .chooses_engines = world.rank() == placement_.planner,
                                                     .world = &world};
                        return placement_.device == DeviceKind::cuda ? make_cuda_backend(options)
                                                                     : make_cpu_backend(options);
                      })),
      watched_(watch_of(world), backend_->device(), execution),
      between_hosts_(make_communicator(world, execution.transport)),
      between_devices_(connect_devices()),
      alone_(placement_.whole_sums ? make_self_communicator() : nullptr) {}

Session::Watched::Watched(Watch& session_watch, const Device& device, const ExecutionOptions& execution)
    : watch(session_watch) {
  watch.set_limits(hang_limits(execution.hang_limit.seconds, execution.watchdog));
  watch.set_device(&device);
}
Session::Watched::~Watched() { watch.set_device(nullptr); }

std::unique_ptr<Communicator> Session::connect_devices() const {
  if (placement_.device == DeviceKind::cpu || world_.size() == 1) return nullptr;
  if (placement_.nccl) {
    return watched_.watch.during(Collective::device, Group::alone, 0, [&] {
      return make_nccl_communicator(*between_hosts_, placement_.gpu, device(), world_.local_size());
    });
  }
  return make_staged_communicator(*between_hosts_, device());
}

Assignment Session::assign(std::uint32_t leaves, std::size_t executors) const {
  return lockstep::assign(leaves, world_.size(), world_.rank(), static_cast<int>(executors),
                          execution_.rank_weights);
}

Buffer Session::allocate_arena(std::size_t elements) const {
  Buffer arena;
  if (!placement_.whole_sums) arena = between_devices().common_arena(elements);
  world_.agree([&] {
    if (arena.data() == nullptr) arena = device().allocate(elements * sizeof(float));
  });
  return arena;
}

}  // namespace lockstep
