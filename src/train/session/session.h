#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/communicator.h"
#include "comm/world/agreed.h"
#include "comm/world/gather.h"
#include "gradient/assignment.h"
#include "lockstep/execution.h"
#include "lockstep/world.h"
#include "train/session/backend.h"
#include "train/session/placement.h"
#include "watch/watch.h"

namespace lockstep {

/// This rank's backend and communicators, with which the ranks of a world compute and exchange data. Every
/// rank constructs one. The session must outlive everything that is recorded or allocated with it. Call from
/// one thread only.
class Session {
 public:
  /// `placement`: result of find_placement. `pin`: whether executors of a CPU rank are bound to cores.
  /// Collective. Throws on all ranks Error(usage) for impossible options, Error(resource) if a device, a
  /// library or shared memory is not available.
  Session(const World& world, Placement placement, const ExecutionOptions& execution, bool pin = true);

  const World& world() const { return world_; }
  const Placement& placement() const { return placement_; }
  const ExecutionOptions& execution() const { return execution_; }
  Backend& backend() const { return *backend_; }
  Device& device() const { return backend_->device(); }
  /// Communicator for data in host memory.
  Communicator& between_hosts() const { return *between_hosts_; }
  /// Communicator for arenas in device memory; on the CPU, the same as between_hosts().
  Communicator& between_devices() const { return between_devices_ ? *between_devices_ : *between_hosts_; }

  /// Communicator of the ranks that divide the update into slices: all ranks or, with whole sums, this rank
  /// alone, which updates all elements.
  Communicator& owners() const { return alone_ ? *alone_ : between_devices(); }
  /// Assigns the `leaves` leaves of a step to the ranks, and this rank's leaves to its `executors` executors.
  Assignment assign(std::uint32_t leaves, std::size_t executors) const;

  /// Runs `program`. With NCCL, the watchdog counts the time as waiting for the GPU: the host may have to
  /// wait until earlier kernels have run, and these may wait for other ranks.
  void run(Program& program) const {
    if (!placement_.nccl) return program.run();
    watched_.watch.during(Collective::device, Group::alone, 0, [&] { program.run(); });
  }

  /// Allocates an arena on the device. Ranks of a host share the arena if each element is updated by one rank
  /// only; their steps and evaluations are never so far apart that one rank reads an element while another
  /// updates it. Collective. Throws Error(resource) on all ranks.
  Buffer allocate_arena(std::size_t elements) const;
  /// Whether the ranks of a host share the arenas that allocate_arena makes, if the host allows it.
  bool shares_arenas() const {
    return !placement_.whole_sums && placement_.device == DeviceKind::cpu &&
           execution_.transport != Transport::messages;
  }

  /// Calls `make` on every rank, and returns its result once all calls have succeeded. With
  /// ExecutionOptions::plan_cache, the planner calls it first, and the other ranks use the engines that the
  /// planner has chosen. This method is collective; `make` must not be.
  template <class Make>
  auto planned(const Make& make) const -> decltype(make()) {
    std::optional<decltype(make())> made;
    const bool in_turn = placement_.some_cuda && !execution_.plan_cache.empty();
    const bool is_first = !in_turn || world_.rank() == placement_.planner;
    world_.agree([&] {
      if (is_first) made.emplace(make());
    });
    if (in_turn) {
      const std::string engines = broadcast(world_, backend_->engines(), placement_.planner);
      world_.agree([&] {
        if (is_first) return;
        backend_->use_engines(engines);
        made.emplace(make());
      });
    }
    return std::move(*made);
  }

 private:
  std::unique_ptr<Communicator> connect_devices() const;
  /// Lets the watchdog see the progress of the device.
  struct Watched {
    Watched(Watch& session_watch, const Device& device, const ExecutionOptions& execution);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    Watch& watch;
  };

  const World& world_;
  Placement placement_;
  ExecutionOptions execution_;
  std::unique_ptr<Backend> backend_;
  Watched watched_;
  std::unique_ptr<Communicator> between_hosts_;
  std::unique_ptr<Communicator> between_devices_;  ///< null: same as between_hosts_
  std::unique_ptr<Communicator> alone_;  ///< communicator of this rank alone; null: all ranks are owners
};

}  // namespace lockstep
