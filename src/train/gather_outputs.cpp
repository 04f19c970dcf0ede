#include "train/gather_outputs.h"

#include <algorithm>
#include <vector>

namespace lockstep {

void gather_outputs(const World& world, BackgroundGather& gather, std::span<const float> own,
                    std::span<const std::size_t> counts, std::span<float> all) {
  const std::span<const std::byte> sent = std::as_bytes(own);
  std::vector<std::vector<std::span<std::byte>>> parts(counts.size());
  if (world.rank() == 0) {
    std::span<float> rest = all;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      parts[rank].push_back(std::as_writable_bytes(rest.first(counts[rank])));
      rest = rest.subspan(counts[rank]);
    }
    std::ranges::copy(sent, parts[0][0].begin());
  }
  gather.start({&sent, 1}, parts);
  gather.wait();
}

}  // namespace lockstep
