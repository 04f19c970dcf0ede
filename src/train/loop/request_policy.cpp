#include "train/loop/request_policy.h"

#include <algorithm>

namespace lockstep {

std::uint64_t RequestPolicy::steps_until_due(std::uint64_t step) const {
  const std::uint64_t checkpoint =
      parts_.checkpointer == nullptr ? never : parts_.checkpointer->steps_until_due(step);
  return std::min(exchange_.steps_to_boundary(), checkpoint);
}

Next RequestPolicy::act(Boundary boundary) {
  if (boundary == Boundary::before_evaluation) return Next::step;
  const bool due = parts_.checkpointer != nullptr && parts_.checkpointer->is_due(boundary);
  return carry_out(exchange_.exchange(parts_.state.progress.step, due ? Request::checkpoint : Request::none));
}

Next RequestPolicy::carry_out(Request request) {
  if (request == Request::none) return Next::step;
  const World& world = parts_.session.world();
  const InStage in(watch_of(world), Stage::checkpoint);
  world.agree([&] {
    if (parts_.hooks.act) parts_.hooks.act(request);
  });
  if (parts_.checkpointer != nullptr) {
    epoch_.store_contents();
    replicas_.check_parameters();  // so that a run can continue from any checkpoint
    parts_.checkpointer->begin();
    if (request == Request::stop) parts_.checkpointer->finish();
  }
  return request == Request::stop ? Next::stop : Next::step;
}

}  // namespace lockstep
