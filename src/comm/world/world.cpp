#include "lockstep/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <utility>

#include "comm/world/agreement.h"
#include "comm/world/runtime.h"
#include "comm/world/watch_of.h"
#include "core/process/launcher_report.h"
#include "core/text/message.h"

namespace lockstep {
namespace {

void print_error(const std::string& text) {
  std::fflush(stdout);
  print_message("lockstep: error: " + text);
}

/// Prints an error of this rank, and reports it to lockstep-run. After the first step, the printed error ends
/// with the command that continues the run, unless a restart would change nothing.
void report_error(const World& world, const Error& error) {
  const std::string text =
      "rank " + std::to_string(world.rank()) + " on " + world.host() + ": " + error.what();
  const Watch& watch = watch_of(world);
  const std::uint64_t steps = steps_made(watch.activity());
  const bool repeats = error.category() == Category::usage || error.category() == Category::data;
  const bool advises = steps > 0 && !repeats && !watch.advice().empty();
  print_error(text + (advises ? "; " + watch.advice() : ""));
  report_to_launcher(
      {.failure = LauncherReport::Failure{.rank = world.rank(), .host = world.host(), .cause = text},
       .step = steps});
}

/// Ends this rank with an error that all ranks know of.
int end_together(const World& world, const Error& error) {
  announce_common_end();
  report_error(world, error);
  return error.exit_status();
}

/// Ends this rank with an error that other ranks do not know of, and ends them, too.
int end_unagreed(const World& world, const Error& error) {
  if (world.size() == 1) return end_together(world, error);
  report_error(world, error);
  world.abort(error.exit_status());
}

void check_small(std::uint64_t bytes) {
  if (bytes <= std::numeric_limits<int>::max()) return;  // MPI's counts are ints
  throw Error(Category::resource, fmt::format("ranks cannot exchange {} MB at once", bytes >> 20));
}

/// Starts a collective with `start(arguments..., request)`, the MPI function called `name`, and waits until
/// it completes.
template <class Start, class... Arguments>
void run_collective(const char* name, const Start& start, Arguments... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(start(arguments..., &request), name);
  complete(request);
}

int run_in(World& world, const std::function<int(World&)>& body) {
  try {
    return body(world);
  } catch (const PeerFailure& error) {
    announce_common_end();
    return error.exit_status();
  } catch (const AgreedError& error) {
    return end_together(world, error);
  } catch (...) {
    return end_unagreed(world, as_error(std::current_exception()));
  }
}

}  // namespace

World::World(int* argc, char*** argv) : runtime_(std::make_unique<Runtime>(argc, argv)) {}
World::World(std::unique_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
World::~World() = default;

World World::alone() const { return World(std::make_unique<Runtime>(runtime_->host_name)); }

int World::rank() const { return runtime_->rank; }
int World::size() const { return runtime_->size; }
int World::local_rank() const { return runtime_->local_rank; }
int World::local_size() const { return runtime_->host.size(); }
int World::hosts() const { return static_cast<int>(host_boundaries().size()) - 1; }
const std::vector<int>& World::host_boundaries() const { return runtime_->ranks.boundaries; }
const std::string& World::host() const { return runtime_->host_name; }

std::string World::library() const { return mpi_library(); }

void World::agree(const std::function<void()>& work) const {
  const Outcome own(work, rank());
  const InCollective in(*runtime_->watch, Collective::agree, Group::world, sizeof(std::int64_t));
  const std::int64_t code = own.code();
  std::int64_t smallest = code;
  run_collective("MPI_Iallreduce", MPI_Iallreduce, &code, &smallest, 1, MPI_INT64_T, MPI_MIN,
                 runtime_->ranks.world.get());
  own.settle(smallest, size());
}

std::vector<std::byte> World::all_gather(std::span<const std::byte> own) const {
  check_small(own.size());
  std::vector<std::byte> all(own.size() * static_cast<std::size_t>(size()));
  const int count = static_cast<int>(own.size());
  const InCollective in(*runtime_->watch, Collective::all_gather, Group::world, all.size());
  run_collective("MPI_Iallgather", MPI_Iallgather, own.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE,
                 runtime_->ranks.world.get());
  return all;
}

std::vector<std::byte> World::broadcast(std::span<const std::byte> own, int from) const {
  const auto send = [this, from](void* data, std::size_t bytes) {
    run_collective("MPI_Ibcast", MPI_Ibcast, data, static_cast<int>(bytes), MPI_BYTE, from,
                   runtime_->ranks.world.get());
  };
  const InCollective in(*runtime_->watch, Collective::broadcast, Group::world);
  std::uint64_t bytes = own.size();
  send(&bytes, sizeof bytes);
  check_small(bytes);
  std::vector<std::byte> result(bytes);
  if (rank() == from) std::ranges::copy(own, result.begin());
  send(result.data(), result.size());
  return result;
}

void World::sum(std::span<std::uint64_t> values) const {
  constexpr std::size_t most_at_once = std::size_t{1} << 20;  // a limit, because MPI may copy the values
  const InCollective in(*runtime_->watch, Collective::sum, Group::world, values.size_bytes());
  while (!values.empty()) {
    const auto piece = values.first(std::min(most_at_once, values.size()));
    run_collective("MPI_Iallreduce", MPI_Iallreduce, MPI_IN_PLACE, piece.data(),
                   static_cast<int>(piece.size()), MPI_UINT64_T, MPI_SUM, runtime_->ranks.world.get());
    values = values.subspan(piece.size());
  }
}

void World::barrier() const {
  const InCollective in(*runtime_->watch, Collective::barrier, Group::world);
  run_collective("MPI_Ibarrier", MPI_Ibarrier, runtime_->ranks.world.get());
}

Watch& watch_of(const World& world) { return *world.runtime().watch; }

void World::abort(int status) const {
  announce_end();
  runtime_->watch->say_goodbye();
  std::fflush(nullptr);
  if (size() > 1) MPI_Abort(runtime_->ranks.world.get(), status);
  std::_Exit(status);
}

int run_program(int argc, char** argv, const std::function<int(World&)>& body) {
  try {
    int status = 0, rank = 0;
    {
      World world(&argc, &argv);
      rank = world.rank();
      status = run_in(world, body);
    }
    if (rank == 0) report_to_launcher({.status = status});
    return status;
  } catch (const PeerFailure& error) {
    return error.exit_status();
  } catch (...) {
    const Error error = as_error(std::current_exception());
    print_error(error.what());
    return error.exit_status();
  }
}

}  // namespace lockstep
