#include <array>
#include <cstring>
#include <map>
#include <vector>

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

}  // namespace

std::string why_not_nccl(Communicator& host, const GpuPlace& own) {
  const PlaceText text = as_text(own);
  std::vector<PlaceText> all(static_cast<std::size_t>(host.size()));
  const std::vector<std::size_t> bytes(all.size(), sizeof text);
  host.all_gather_bytes(std::as_bytes(std::span(text)), bytes, std::as_writable_bytes(std::span(all)));
  std::map<std::string, std::size_t> first_of;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string place = all[rank].data();
    if (place.empty()) return "rank " + std::to_string(rank) + " has no GPU";
    const auto [found, fresh] = first_of.try_emplace(place, rank);
    if (!fresh) {
      return "ranks " + std::to_string(found->second) + " and " + std::to_string(rank) + " share GPU " +
             place;
    }
  }
  return "";
}

}  // namespace lockstep
