// Real processes, one of which fails: failures_mpi HOW TRANSPORT. The others wait for it in a collective.

#include <csignal>
#include <cstdlib>
#include <string>

#include "comm/communicator.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace {

using lockstep::Category;
using lockstep::Error;

void fail(const std::string& how) {
  if (how == "throw") throw Error(Category::data, "labels.gz: cut short");
  if (how == "kill") std::raise(SIGKILL);
  if (how == "leave") std::_Exit(0);
}

int run(lockstep::World& world, const std::string& how, lockstep::Transport transport) {
  const auto communicator = lockstep::make_communicator(world, transport);
  communicator->barrier();
  const bool failing = world.rank() == 1;
  if (how == "agreed") {
    world.agree([&] {
      if (failing) throw Error(Category::data, "labels.gz: cut short");
    });
  }
  if (failing) fail(how);
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
