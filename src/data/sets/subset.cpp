#include "data/sets/subset.h"

#include <fmt/format.h>

#include "core/random/permutation.h"
#include "data/fingerprint.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Samples at positions [first, first + size) of a permutation of another data set, computed on request.
class Subset final : public Dataset {
 public:
  Subset(const Dataset& whole, std::uint64_t first, std::uint64_t size, bool warns)
      : whole_(whole),
        permutation_(keyed_permutation(whole.size(), 0, 0, Purpose::validation)),
        first_(first),
        size_(size),
        warns_(warns) {}

  std::uint64_t size() const override { return size_; }
  Shape shape() const override { return whole_.shape(); }
  int classes() const override { return whole_.classes(); }
  Encoding encoding() const override { return whole_.encoding(); }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    return whole_.sample(permutation_(first_ + id), buffer);
  }
  int label(std::uint64_t id) const override { return whole_.label(permutation_(first_ + id)); }
  Task task() const override { return whole_.task(); }
  std::span<const float> targets(std::uint64_t id) const override {
    return whole_.targets(permutation_(first_ + id));
  }
  TargetScale target_scale() const override { return whole_.target_scale(); }
  std::string fingerprint() const override {
    return Fingerprint(*this).add(first_).add(whole_.fingerprint()).text();
  }
  std::string sample_name(std::uint64_t id) const override {
    return whole_.sample_name(permutation_(first_ + id));
  }
  std::vector<std::string> class_names() const override { return whole_.class_names(); }
  std::vector<std::string> warnings() const override {
    return warns_ ? whole_.warnings() : std::vector<std::string>();
  }
  const TableEncoding* table_encoding() const override { return whole_.table_encoding(); }

 private:
  const Dataset& whole_;
  KeyedPermutation permutation_;
  std::uint64_t first_;
  std::uint64_t size_;
  bool warns_;  ///< whether it has the whole set's warnings, as one of its parts does
};

}  // namespace

void hold_out_validation(DatasetPair& pair, double fraction) {
  const std::uint64_t size = pair.train->size();
  const auto held_out = static_cast<std::uint64_t>(fraction * static_cast<double>(size));
  if (held_out == 0 || held_out >= size) {
    throw Error(Category::data,
                fmt::format("a validation fraction of {} of {} training samples leaves none to {}", fraction,
                            size, held_out == 0 ? "validate" : "train"),
                "validation-fraction");
  }
  pair.whole = std::move(pair.train);
  pair.validation = std::make_unique<Subset>(*pair.whole, 0, held_out, false);
  pair.train = std::make_unique<Subset>(*pair.whole, held_out, size - held_out, true);
}

}  // namespace lockstep
