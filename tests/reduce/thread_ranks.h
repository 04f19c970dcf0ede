#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "comm/communicator.h"

namespace lockstep {

/// Runs `body` as every rank of `ranks`, each a thread of this process.
inline void run_as_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  const auto communicators = make_thread_communicators(ranks);
  std::vector<std::jthread> threads;
  for (const auto& communicator : communicators) {
    threads.emplace_back([&body, &own = *communicator] { body(own); });
  }
}

}  // namespace lockstep
