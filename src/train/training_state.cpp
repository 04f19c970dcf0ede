#include "train/training_state.h"

#include <algorithm>
#include <string_view>

#include "core/finite.h"
#include "core/hash.h"

namespace lockstep {

std::vector<StateTensor> state_tensors(const NamedArena& arena, const Run& run) {
  constexpr std::string_view of_optimizer = "optimizer.";
  const bool state = arena.name.starts_with(of_optimizer);
  const std::string prefix = state ? arena.name.substr(of_optimizer.size()) : arena.name;
  std::vector<StateTensor> tensors;
  const std::vector<Parameter>& parameters = run.network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (state && !parameters[i].trained()) continue;
    tensors.push_back({.name = prefix + "." + parameters[i].name,
                       .parameter = &parameters[i],
                       .offset = run.layout.offsets[i]});
  }
  return tensors;
}

TrainingState::TrainingState(const Session& session, const Run& run) : run_(run) {
  const World& world = session.world();
  const OptimizerOptions rule = update_rule(run.options);
  std::vector<std::string> states;
  world.agree([&] {
    slices_ = update_slices(run.network.parameters(), run.layout, rule, session.owners().size());
    states = Optimizer(rule).states();
  });
  const auto rank = static_cast<std::size_t>(session.owners().rank());
  const std::size_t elements = run.layout.elements, first = slices_[rank], last = slices_[rank + 1];
  arenas_.push_back({.name = "parameters", .data = session.allocate_arena(elements), .last = elements});
  if (run.options.model_ema) {
    arenas_.push_back(
        {.name = "average", .data = session.allocate_arena(elements), .first = first, .last = last});
  }
  world.agree([&] {
    for (const NamedArena& arena : arenas_) views_.emplace_back(session.device(), arena.data);
    for (const std::string& state : states) {
      arenas_.push_back({.name = "optimizer." + state,
                         .data = session.device().allocate((last - first) * sizeof(float)),
                         .begin = first,
                         .first = first,
                         .last = last});
    }
    initialize_parameters(run.network.parameters(), run.layout, run.options.seed,
                          views_.front().floats().data(),
                          [&](const auto& work) { session.backend().on_host_threads(work); });
    views_.front().store();
  });
  start_averages();
}

const NamedArena* TrainingState::average() const { return views_.size() > 1 ? &arenas_[1] : nullptr; }

UpdatedArenas TrainingState::updated() const {
  UpdatedArenas updated{.slices = slices_, .values = parameters()};
  if (average() != nullptr) {
    updated.averages = average()->values();
    updated.average_decay = run_.options.model_ema_decay;
  }
  for (std::size_t i = views_.size(); i < arenas_.size(); ++i) updated.states.push_back(arenas_[i].values());
  return updated;
}

void TrainingState::load(const ModelFile& file, const LoadOptions& options, bool other_outputs) {
  views_.front().fetch();
  ParameterSet(run_.network, run_.layout, views_.front().floats()).load(file, options, other_outputs);
  views_.front().store();
}

void TrainingState::start_averages() {
  if (average() == nullptr) return;
  views_.front().fetch();
  std::ranges::copy(views_.front().floats(), views_.back().floats().begin());
  views_.back().store();
}

void TrainingState::save(const std::string& file, const std::map<std::string, std::string>& metadata) const {
  const HostView& view = views_.back();  // averages, if there are any
  view.fetch();
  ParameterSet(run_.network, run_.layout, view.floats()).save(file, metadata);
}

std::string TrainingState::digest_of_results() const {
  views_.back().fetch();
  return digest_of(run_.network.parameters(), run_.layout, views_.back().floats());
}

std::string TrainingState::digest() const {
  views_.front().fetch();
  return digest_of(run_.network.parameters(), run_.layout, views_.front().floats());
}

std::array<std::uint64_t, 2> TrainingState::parameter_hash() const {
  Digest digest;
  views_.front().fetch();
  digest.update(std::span<const float>(views_.front().floats()));
  return digest.words();
}

std::array<std::uint64_t, 2> TrainingState::hash() const {
  Digest digest;
  for (const HostView& view : views_) {
    view.fetch();
    digest.update(std::span<const float>(view.floats()));
  }
  return digest.words();
}

std::string TrainingState::not_finite() const {
  const std::vector<Parameter>& parameters = run_.network.parameters();
  for (std::size_t view = 0; view < views_.size(); ++view) {
    const std::span<const float> values = views_[view].floats();
    if (all_finite(values)) continue;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (all_finite(values.subspan(run_.layout.offsets[i], parameters[i].size()))) continue;
      return view == 0 ? parameters[i].name : arenas_[view].name + "." + parameters[i].name;
    }
  }
  return {};
}

}  // namespace lockstep
