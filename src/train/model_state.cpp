#include "train/model_state.h"

#include <algorithm>

#include "core/hash.h"

namespace lockstep {

ModelState::ModelState(Backend& backend, const Network& network, const ArenaLayout& layout, Buffer parameters,
                       Buffer averages)
    : network_(network),
      layout_(layout),
      parameters_(std::move(parameters)),
      averages_(std::move(averages)),
      parameters_view_(backend.device(), parameters_),
      averages_view_(backend.device(), averages_) {}

void ModelState::initialize(std::uint64_t seed) {
  initialize_parameters(network_.parameters(), layout_, seed, parameters_view_.floats().data());
  parameters_view_.store();
}

void ModelState::load(const ModelFile& file, const LoadOptions& options) {
  parameters_view_.fetch();
  ParameterSet(network_, layout_, parameters_view_.floats()).load(file, options);
  parameters_view_.store();
}

void ModelState::start_averages() {
  if (averages_.bytes() == 0) return;
  parameters_view_.fetch();
  std::ranges::copy(parameters_view_.floats(), averages_view_.floats().begin());
  averages_view_.store();
}

void ModelState::save(const std::string& file, const std::map<std::string, std::string>& metadata) const {
  const HostView& view = averages_.bytes() > 0 ? averages_view_ : parameters_view_;
  view.fetch();
  ParameterSet(network_, layout_, view.floats()).save(file, metadata);
}

std::string ModelState::digest() const {
  parameters_view_.fetch();
  return digest_of(network_.parameters(), layout_, parameters_view_.floats());
}

std::array<std::uint64_t, 2> ModelState::hash() const {
  parameters_view_.fetch();
  averages_view_.fetch();
  Digest digest;
  digest.update(std::span<const float>(parameters_view_.floats()));
  digest.update(std::span<const float>(averages_view_.floats()));
  return digest.words();
}

}  // namespace lockstep
