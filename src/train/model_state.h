#pragma once

#include <map>
#include <memory>
#include <string>

#include "lockstep/training_options.h"
#include "train/backend.h"
#include "train/parameter_set.h"

namespace lockstep {

/// The parameters of a run and, where they are wanted, their averages: arenas on the device, and what the
/// host sees of them. Network and layout outlive it.
class ModelState {
 public:
  /// `parameters` and `averages`: arenas of the backend's device; `averages` may be empty.
  ModelState(Backend& backend, const Network& network, const ArenaLayout& layout, Buffer parameters,
             Buffer averages);

  std::span<float> parameters() const { return parameters_.floats(); }
  std::span<float> averages() const { return averages_.floats(); }
  /// What is evaluated and saved; on the device.
  std::span<float> results() const { return averages_.bytes() > 0 ? averages() : parameters(); }

  void initialize(std::uint64_t seed);
  void load(const ModelFile& file, const LoadOptions& options);
  /// Averages begin as the parameters. Ranks may share the arenas: all have written their parameters.
  void start_averages();
  void save(const std::string& file, const std::map<std::string, std::string>& metadata) const;
  std::string digest() const;
  /// Hash of all arenas, gaps included.
  std::array<std::uint64_t, 2> hash() const;

 private:
  const Network& network_;
  const ArenaLayout& layout_;
  Buffer parameters_, averages_;
  HostView parameters_view_, averages_view_;
};

}  // namespace lockstep
