#include "lockstep/dataset.h"

#include <fmt/format.h>

#include "data/fingerprint.h"
#include "lockstep/error.h"

namespace lockstep {
std::span<const std::uint8_t> readable_sample(const Dataset& dataset, std::uint64_t id,
                                              std::vector<std::uint8_t>& buffer) {
  try {
    return dataset.sample(id, buffer);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    return {};
  }
}

std::string Dataset::sample_name(std::uint64_t id) const { return fmt::format("sample {}", id); }

std::string Dataset::fingerprint() const {
  Fingerprint fingerprint(*this);
  std::vector<std::uint8_t> buffer;
  for (std::uint64_t id = 0; id < size(); ++id) {
    const auto label = static_cast<std::uint64_t>(task() == Task::classification ? this->label(id) : 0);
    fingerprint.add(label).add(std::as_bytes(readable_sample(*this, id, buffer)));
  }
  return fingerprint.text();
}

}  // namespace lockstep
