#include "data/sets/whole.h"

#include <algorithm>
#include <utility>

#include "comm/world/check_same.h"
#include "core/options/check.h"
#include "data/fingerprint.h"
#include "data/sets/csv_dataset.h"
#include "data/sets/registry.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

class Joined final : public Dataset {
 public:
  explicit Joined(std::vector<std::unique_ptr<Dataset>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) ends_.push_back(size() + part->size());
  }

  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Shape shape() const override { return first().shape(); }
  int classes() const override { return first().classes(); }
  Task task() const override { return first().task(); }
  Encoding encoding() const override { return first().encoding(); }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const auto [part, own] = find(id);
    return part.sample(own, buffer);
  }
  int label(std::uint64_t id) const override {
    const auto [part, own] = find(id);
    return part.label(own);
  }
  std::span<const float> targets(std::uint64_t id) const override {
    const auto [part, own] = find(id);
    return part.targets(own);
  }
  TargetScale target_scale() const override { return first().target_scale(); }
  std::string fingerprint() const override {
    Fingerprint fingerprint(*this);
    for (const auto& part : parts_) fingerprint.add(part->fingerprint());
    return fingerprint.text();
  }
  std::string sample_name(std::uint64_t id) const override {
    const auto [part, own] = find(id);
    return part.sample_name(own);
  }
  std::vector<std::string> class_names() const override { return first().class_names(); }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> all;
    for (const auto& part : parts_) {
      for (std::string& line : part->warnings()) all.push_back(std::move(line));
    }
    return all;
  }
  const TableEncoding* table_encoding() const override { return first().table_encoding(); }

 private:
  const Dataset& first() const { return *parts_.front(); }
  /// Part that contains sample `id`, and the sample's id in this part.
  std::pair<const Dataset&, std::uint64_t> find(std::uint64_t id) const {
    const auto part = static_cast<std::size_t>(std::ranges::upper_bound(ends_, id) - ends_.begin());
    return {*parts_[part], id - (part == 0 ? 0 : ends_[part - 1])};
  }

  std::vector<std::unique_ptr<Dataset>> parts_;
  std::vector<std::uint64_t> ends_;  ///< [part] id after the part's last sample
};

}  // namespace

std::unique_ptr<Dataset> join(std::vector<std::unique_ptr<Dataset>> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<Joined>(std::move(parts));
}

std::unique_ptr<Dataset> open_whole(const World& world, DatasetOptions options, const TrainedTable* table) {
  options.test_fraction = options.validation_fraction = 0.0;
  std::vector<std::unique_ptr<Dataset>> parts;
  if (table != nullptr) {
    check_same(world, lines_to_compare(options));
    world.agree([&] {
      check_fields(options);
      parts = read_labelled_tables(options, *table);
    });
  } else {
    DatasetPair pair = open_parts(world, options, DataUse::measuring);
    for (auto* const part : {&pair.train, &pair.validation, &pair.test}) {
      if (*part) parts.push_back(std::move(*part));
    }
  }
  return join(std::move(parts));
}

}  // namespace lockstep
