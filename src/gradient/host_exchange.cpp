#include "gradient/host_exchange.h"

namespace lockstep {
namespace {

class MergedByHosts final : public SumExchange {
 public:
  /// `merges`: merges of each host.
  MergedByHosts(const HostParts& parts, Summation& summation, const SumLayout& layout,
                const std::vector<std::vector<Merge>>& merges)
      : summation_(summation) {
    const HostRanks& hosts = parts.hosts;
    for (const Merge& merge : merges[hosts.host()]) merges_.push_back(merge.fold);
    arenas_ = parts.within.shared_arenas(merges_.size(), layout.slices.back());
    while (arenas_.size() < merges_.size()) arenas_.push_back(summation.allocate(layout.slices.back()));

    SumLayout within{.own = layout.own, .counts = {}, .slices = {}};
    for (std::size_t rank = hosts.first(hosts.host()); rank < hosts.first(hosts.host() + 1); ++rank) {
      within.counts.push_back(layout.counts[rank]);
    }
    SumLayout between{.own = {}, .counts = {}, .slices = layout.slices};
    for (const Buffer& arena : arenas_) between.own.push_back(arena.floats().data());
    for (std::size_t host = 0; host < hosts.hosts(); ++host) {
      within.slices = hosts.shares(layout.slices, host);
      within_.push_back(parts.within.plan_sum(within));
      between.counts.push_back(static_cast<std::uint32_t>(merges[host].size()));
    }
    between_ = parts.plan_sum_of_hosts(std::move(between));
  }

  std::optional<SumChunk> next(Stream& stream) override {
    if (!merged_) merge(stream);
    const auto chunk = between_->next(stream);
    merged_ = chunk.has_value();
    return chunk;
  }

 private:
  /// Merges the host's partial sums over the elements of this rank's shares.
  void merge(Stream& stream) {
    for (const auto& sums : within_) {
      while (const auto chunk = sums->next(stream)) {
        for (std::size_t i = 0; i < merges_.size(); ++i) {
          summation_.fold(stream, merges_[i], *chunk, arenas_[i].floats().data() + chunk->begin);
        }
      }
    }
  }

  Summation& summation_;
  std::vector<Fold> merges_;
  std::vector<Buffer> arenas_;  ///< sums of this host; this rank computes the elements of its shares
  std::vector<std::unique_ptr<SumExchange>> within_;  ///< one per host: the elements that its ranks own
  std::unique_ptr<SumExchange> between_;
  bool merged_ = false;
};

}  // namespace

HostExchange plan_host_exchange(const HostParts& parts, Summation& summation, const SumLayout& layout,
                                const std::vector<std::vector<Node>>& nodes) {
  const HostRanks& hosts = parts.hosts;
  HostExchange planned;
  std::vector<std::vector<Merge>> merges;
  for (std::size_t host = 0; host < hosts.hosts(); ++host) {
    std::vector<Node> of_host;
    for (std::size_t rank = hosts.first(host); rank < hosts.first(host + 1); ++rank) {
      of_host.insert(of_host.end(), nodes[rank].begin(), nodes[rank].end());
    }
    merges.push_back(plan_merge(of_host));
    for (const Merge& merge : merges.back()) planned.inputs.push_back(merge.node);
  }
  planned.exchange = std::make_unique<MergedByHosts>(parts, summation, layout, merges);
  return planned;
}

}  // namespace lockstep
