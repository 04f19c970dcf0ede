#include "gradient/bucketed_exchange.h"

#include <numeric>
#include <utility>

#include "comm/world/agreement.h"

namespace lockstep {
namespace {

/// Elements [begin, end) of all arenas.
struct Bucket {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

std::vector<Bucket> buckets_of(std::span<const std::size_t> begins, std::size_t elements) {
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    buckets.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : elements});
  }
  return buckets;
}

/// Addresses of element `begin` of all partial sums.
std::vector<float*> parts_at(const std::vector<Partial>& partials, std::size_t begin) {
  std::vector<float*> parts;
  for (const Partial& partial : partials) parts.push_back(partial.data + begin);
  return parts;
}

class BucketedExchange final : public SumExchange {
 public:
  struct Part {
    std::size_t begin;
    AllReduce sum;
  };
  BucketedExchange(std::span<float> sum, std::vector<Part> parts)
      : elements_(sum.size()), inputs_{sum.data()}, parts_(std::move(parts)), left_(parts_.size()) {}

  void ready(Stream& stream, std::size_t begin) override {
    while (left_ > 0 && parts_[left_ - 1].begin >= begin) parts_[--left_].sum.start(stream);
  }

  std::optional<SumChunk> next(Stream& stream) override {
    if (!finished_) {
      ready(stream, 0);
      for (std::size_t i = parts_.size(); i-- > 0;) parts_[i].sum.finish(stream);
      finished_ = true;
      if (elements_ > 0) return SumChunk{0, elements_, inputs_};
    }
    left_ = parts_.size();
    finished_ = false;
    return std::nullopt;
  }

 private:
  std::size_t elements_;
  std::vector<const float*> inputs_;  ///< address of the sum
  std::vector<Part> parts_;
  std::size_t left_;  ///< parts of the current step that have not been started
  bool finished_ = false;
};

/// Sums a bucket with the library's all-reduce, after adding up this rank's partial sums.
AllReduce plan_ring_bucket(Communicator& communicator, Summation& summation,
                           const std::vector<Partial>& partials, std::span<float> sum, Bucket bucket) {
  const std::span<float> values = sum.subspan(bucket.begin, bucket.size());
  const AllReduce reduce = communicator.plan_all_reduce(values);
  return {.start =
              [&summation, parts = parts_at(partials, bucket.begin), values, reduce](Stream& stream) {
                // Without partial sums, `values` still holds the sum of the last step.
                if (parts.empty()) summation.fill(stream, values.data(), 0.0F, values.size());
                for (std::size_t i = 1; i < parts.size(); ++i) {
                  summation.add(stream, values.data(), parts[i], values.size());
                }
                reduce.start(stream);
              },
          .finish = reduce.finish};
}

/// Sums a bucket in the order of the tree; each rank folds one part of the bucket.
class FoldedParts {
 public:
  /// `own`: this rank's partial sums of the bucket; `sum`: memory for the sum of the bucket.
  FoldedParts(Communicator& communicator, Summation& summation, Fold fold, std::vector<float*> own,
              const std::vector<std::uint32_t>& counts, std::span<float> sum)
      : summation_(summation), fold_(std::move(fold)), sum_(sum.data()) {
    const Slices slices = even_slices(sum.size(), communicator.size());
    sums_ = communicator.plan_sum({.own = std::move(own), .counts = counts, .slices = slices});
    gather_ = plan_arena_gather(communicator, sum, slices);
  }

  void record(Stream& stream) const {
    while (const auto chunk = sums_->next(stream)) {
      summation_.fold(stream, fold_, *chunk, sum_ + chunk->begin);
    }
    gather_(stream);
  }

 private:
  Summation& summation_;
  const Fold fold_;
  float* sum_;
  std::unique_ptr<SumExchange> sums_;
  Gather gather_;
};

/// Sums a bucket in the order of the tree; every rank folds the whole bucket.
class FoldedEverywhere {
 public:
  /// `all`: memory for the partial sums of all ranks.
  FoldedEverywhere(Communicator& communicator, Summation& summation, Fold fold,
                   const std::vector<float*>& own, const std::vector<std::uint32_t>& counts,
                   std::span<float> sum, Buffer all)
      : summation_(summation),
        fold_(std::move(fold)),
        sum_(sum),
        own_(own.begin(), own.end()),
        all_(std::move(all)) {
    std::vector<std::size_t> bounds{0};
    for (const std::uint32_t count : counts) bounds.push_back(bounds.back() + count * sum.size_bytes());
    for (std::size_t at = 0; at < bounds.back(); at += sum.size_bytes()) {
      inputs_.push_back(reinterpret_cast<float*>(all_.data() + at));
    }
    first_ = bounds[static_cast<std::size_t>(communicator.rank())] / sum.size_bytes();
    gather_ = communicator.plan_gather({all_.data(), bounds.back()}, bounds);
  }

  void record(Stream& stream) const {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const SumChunk copied{0, sum_.size(), std::span(&own_[i], 1)};
      summation_.fold(stream, copy_, copied, const_cast<float*>(inputs_[first_ + i]));
    }
    gather_(stream);
    summation_.fold(stream, fold_, {0, sum_.size(), inputs_}, sum_.data());
  }

 private:
  Summation& summation_;
  const Fold fold_;
  const Fold copy_{.program = {0}, .depth = 1};
  std::span<float> sum_;
  std::vector<const float*> own_;
  std::vector<const float*> inputs_;  ///< partial sums of all ranks, in `all_`
  std::size_t first_ = 0;             ///< number of this rank's first input
  const Buffer all_;
  Gather gather_;
};

/// Sums a bucket in the order of the tree, concurrently with later work.
template <class Sum>
AllReduce beside_later_work(Communicator& communicator, const std::shared_ptr<const Sum>& folded) {
  return {.start = [&communicator, folded](Stream& stream) { folded->record(communicator.fork(stream)); },
          .finish = [&communicator](Stream& stream) { communicator.join(stream); }};
}

}  // namespace

std::unique_ptr<SumExchange> plan_ring_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials, std::span<float> sum,
                                                std::span<const std::size_t> buckets) {
  std::vector<BucketedExchange::Part> parts;
  for (const Bucket bucket : buckets_of(buckets, sum.size())) {
    parts.push_back({bucket.begin, plan_ring_bucket(communicator, summation, partials, sum, bucket)});
  }
  return std::make_unique<BucketedExchange>(sum, std::move(parts));
}

std::unique_ptr<SumExchange> plan_tree_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials,
                                                const std::vector<std::uint32_t>& counts, const Fold& fold,
                                                std::span<float> sum, std::span<const std::size_t> buckets,
                                                std::size_t gathered) {
  const std::size_t inputs = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<Bucket> filled = buckets_of(buckets, sum.size());
  std::erase_if(filled, [](const Bucket& bucket) { return bucket.size() == 0; });
  const auto is_gathered = [&](const Bucket& bucket) { return bucket.size() * inputs <= gathered; };
  std::vector<Buffer> memory(filled.size());
  agree(communicator, [&] {  // allocate everything before plans that may be collective
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (is_gathered(filled[i])) memory[i] = summation.allocate(filled[i].size() * inputs);
    }
  });
  std::vector<BucketedExchange::Part> parts;
  for (std::size_t i = 0; i < filled.size(); ++i) {
    const Bucket bucket = filled[i];
    const std::vector<float*> own = parts_at(partials, bucket.begin);
    const std::span<float> sum_of_bucket = sum.subspan(bucket.begin, bucket.size());
    const AllReduce part =
        is_gathered(bucket)
            ? beside_later_work(communicator, std::make_shared<const FoldedEverywhere>(
                                                  communicator, summation, fold, own, counts, sum_of_bucket,
                                                  std::move(memory[i])))
            : beside_later_work(communicator, std::make_shared<const FoldedParts>(
                                                  communicator, summation, fold, own, counts, sum_of_bucket));
    parts.push_back({bucket.begin, part});
  }
  return std::make_unique<BucketedExchange>(sum, std::move(parts));
}

}  // namespace lockstep
