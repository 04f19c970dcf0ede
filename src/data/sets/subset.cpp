#include "data/sets/subset.h"

#include <fmt/format.h>

#include <limits>

#include "core/random/hash_integer.h"
#include "data/feed/target.h"
#include "data/fingerprint.h"
#include "data/sets/held_out.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Some of the samples of another data set, given by their ids there.
class Subset final : public Dataset {
 public:
  Subset(const Dataset& whole, std::vector<std::uint32_t> ids, bool warns)
      : whole_(whole), ids_(std::move(ids)), warns_(warns) {}

  std::uint64_t size() const override { return ids_.size(); }
  Shape shape() const override { return whole_.shape(); }
  int classes() const override { return whole_.classes(); }
  Task task() const override { return whole_.task(); }
  Encoding encoding() const override { return whole_.encoding(); }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    return whole_.sample(ids_[id], buffer);
  }
  int label(std::uint64_t id) const override { return whole_.label(ids_[id]); }
  std::span<const float> targets(std::uint64_t id) const override { return whole_.targets(ids_[id]); }
  TargetScale target_scale() const override { return whole_.target_scale(); }
  std::string fingerprint() const override {
    return Fingerprint(*this).add(std::as_bytes(std::span(ids_))).add(whole_.fingerprint()).text();
  }
  std::string sample_name(std::uint64_t id) const override { return whole_.sample_name(ids_[id]); }
  std::vector<std::string> class_names() const override { return whole_.class_names(); }
  std::vector<std::string> warnings() const override {
    return warns_ ? whole_.warnings() : std::vector<std::string>();
  }
  const TableEncoding* table_encoding() const override { return whole_.table_encoding(); }

 private:
  const Dataset& whole_;
  std::vector<std::uint32_t> ids_;
  bool warns_;  ///< whether warnings() returns the warnings of the whole set; true for one part only
};

/// [sample] class for the stratified division of a data set.
std::vector<int> strata_of(const Dataset& dataset) {
  if (dataset.task() != Task::multilabel) return labels_of(dataset);
  return rarest_labels(targets_of(dataset), static_cast<std::size_t>(dataset.classes()));
}

}  // namespace

void hold_out_validation(DatasetPair& pair, double fraction) {
  const std::uint64_t size = pair.train->size();
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Category::usage, fmt::format("at most 2^32 training samples can be divided, not {}", size),
                "validation-fraction");
  }
  std::vector<std::uint64_t> keys(size);
  for (std::uint64_t id = 0; id < size; ++id) {
    keys[id] = hash_integer(id).high;  // the test fraction of a table uses the low half
  }
  const std::vector<bool> is_held_out = held_out(strata_of(*pair.train), keys, fraction);
  std::vector<std::uint32_t> train, validation;
  for (std::uint64_t id = 0; id < size; ++id) {
    (is_held_out[id] ? validation : train).push_back(static_cast<std::uint32_t>(id));
  }
  if (validation.empty()) {
    throw Error(Category::data,
                fmt::format("a validation fraction of {} of {} training samples leaves none to validate",
                            fraction, size),
                "validation-fraction");
  }
  pair.whole = std::move(pair.train);
  pair.validation = std::make_unique<Subset>(*pair.whole, std::move(validation), false);
  pair.train = std::make_unique<Subset>(*pair.whole, std::move(train), true);
}

}  // namespace lockstep
