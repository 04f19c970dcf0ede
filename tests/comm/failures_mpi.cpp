// Real processes, one of which fails while the others wait for it in a collective: failures_mpi HOW
// TRANSPORT. "transfer": all ranks except rank 0 are stopped, while rank 0 waits for data that they send in
// the background.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "comm/background_gather.h"
#include "comm/communicator.h"
#include "comm/world/watch_of.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace {

using lockstep::Category;
using lockstep::Error;

void fail(const lockstep::World& world, const std::string& how) {
  if (how == "throw") throw Error(Category::data, "labels.gz: cut short");
  if (how == "alone") world.alone().agree([&] { fail(world, "throw"); });
  if (how == "kill") std::raise(SIGKILL);
  if (how == "leave") std::_Exit(0);
  if (how == "stop") std::raise(SIGSTOP);
  if (how == "loop") {
    for (volatile bool should_continue = true; should_continue;) {
    }
  }
}

void transfer_to_rank_0(const lockstep::World& world) {
  static std::vector<std::byte> memory(1 << 20);  // MPI uses this memory until the process ends
  const std::vector<std::span<std::byte>> part{memory};
  lockstep::BackgroundGather gather(world);
  if (world.rank() != 0) std::raise(SIGSTOP);
  gather.start({}, std::vector(static_cast<std::size_t>(world.size()), part));
  gather.wait();
}

int run(lockstep::World& world, const std::string& how, lockstep::Transport transport) {
  lockstep::Watch& watch = lockstep::watch_of(world);
  watch.set_limits(lockstep::hang_limits(1.0));
  watch.set_report_folder(std::filesystem::temp_directory_path());
  const auto communicator = lockstep::make_communicator(world, transport);
  watch.begin_steps(1);
  communicator->barrier();
  watch.end_steps();
  watch.begin_steps(2);
  const bool failing = world.rank() == 1;
  if (how == "transfer") transfer_to_rank_0(world);
  if (how == "announced") {  // rank 1 announced its failure, but the launcher ends rank 0 first
    if (failing) lockstep::announce_end();
    communicator->barrier();
    if (world.rank() == 0) std::_Exit(0);
  }
  if (how == "together") {  // the launcher kills rank 0 after the others began to exit
    if (world.rank() != 0) lockstep::announce_common_end();
    communicator->barrier();
    if (world.rank() == 0) std::raise(SIGKILL);
  }
  if (how == "agreed") {
    world.agree([&] {
      if (failing) throw Error(Category::data, "labels.gz: cut short");
    });
  }
  if (failing) fail(world, how);
  if (how == "second") const lockstep::World second(nullptr, nullptr);
  if (failing && how == "different") world.agree([] {});
  if (failing && how == "finish") return 0;
  for (;;) communicator->barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const bool messages = argc > 2 && std::string(argv[2]) == "messages";
  return lockstep::run_program(argc, argv, [&](lockstep::World& world) {
    return run(world, how, messages ? lockstep::Transport::messages : lockstep::Transport::shared_memory);
  });
}
