#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Bytes of sample `id`; empty if it cannot be read (a step that needs the sample reports the error).
std::span<const std::uint8_t> readable_sample(const Dataset& dataset, std::uint64_t id,
                                              std::vector<std::uint8_t>& buffer);

/// Hash for Dataset::fingerprint. The constructor adds the data set's size, encoding, shape and number of
/// classes and, with `targets`, the targets of tasks other than classification.
class Fingerprint {
 public:
  explicit Fingerprint(const Dataset& dataset, bool targets = true) {
    const Shape shape = dataset.shape();
    add(dataset.size()).add(static_cast<std::uint64_t>(dataset.encoding()));
    for (const int extent : {shape.channels, shape.height, shape.width, dataset.classes()}) {
      add(static_cast<std::uint64_t>(extent));
    }
    if (targets && dataset.task() != Task::classification) add_targets(dataset);
  }

  Fingerprint& add(std::uint64_t number) {
    digest_.update(std::as_bytes(std::span(&number, 1)));
    return *this;
  }
  /// Adds the number of bytes, then the bytes.
  Fingerprint& add(std::span<const std::byte> bytes) {
    add(std::uint64_t{bytes.size()});
    digest_.update(bytes);
    return *this;
  }
  Fingerprint& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

  /// Adds at most 64 evenly spaced samples, for data sets whose samples take long to read.
  Fingerprint& add_some_samples(const Dataset& dataset) {
    constexpr std::uint64_t most = 64;
    std::vector<std::uint8_t> buffer;
    for (std::uint64_t id = 0; id < dataset.size(); id += dataset.size() / most + 1) {
      add(std::as_bytes(readable_sample(dataset, id, buffer)));
    }
    return *this;
  }

  std::string text() const { return digest_.hex(); }

 private:
  void add_targets(const Dataset& dataset) {
    const TargetScale scale = dataset.target_scale();
    add(static_cast<std::uint64_t>(dataset.task()));
    add(std::as_bytes(std::span(&scale, 1)));
    for (std::uint64_t id = 0; id < dataset.size(); ++id) add(std::as_bytes(dataset.targets(id)));
  }

  Digest digest_;
};

}  // namespace lockstep
