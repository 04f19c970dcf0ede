#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "comm/agreement.h"
#include "comm/gpu_communicator.h"

namespace lockstep {
namespace {

/// A place as text of one length, which all ranks' have.
using PlaceText = std::array<char, 320>;

PlaceText as_text(const GpuPlace& place) {
  if (place.bus.empty()) return {};
  const std::string text = place.bus.substr(0, 63) + " of " + place.host.substr(0, 250);
  PlaceText result{};
  std::memcpy(result.data(), text.data(), text.size());
  return result;
}

/// Of all ranks.
std::vector<PlaceText> gather(Communicator& host, const PlaceText& own) {
  std::vector<PlaceText> all(static_cast<std::size_t>(host.size()));
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  host.all_gather_bytes(std::as_bytes(std::span(own)), bytes, std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace

std::string why_not_nccl(Communicator& host, const GpuPlace& own, GpuSharing sharing) {
  const std::vector<PlaceText> all = gather(host, as_text(own));
  const auto own_rank = static_cast<std::size_t>(host.rank());
  std::string reason;
  std::map<std::string, std::size_t> first_of;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string place = all[rank].data();
    if (place.empty()) {
      if (reason.empty()) reason = fmt::format("rank {} has no GPU", rank);
      continue;
    }
    const std::size_t first = first_of.try_emplace(place, rank).first->second;
    if (first == rank) continue;
    if (reason.empty()) reason = fmt::format("ranks {} and {} share GPU {}", first, rank, place);
    if (sharing == GpuSharing::allowed) continue;
    agree(host, [&] {
      if (rank != own_rank) return;
      throw Error(
          Category::resource,
          fmt::format("ranks {} and {} have the same GPU, {}: start as many ranks on a host as it has GPUs, "
                      "or let them share, which is slow, with --transport shared-memory (on several "
                      "hosts: messages)",
                      first, rank, place));
    });
  }
  return reason;
}

}  // namespace lockstep
