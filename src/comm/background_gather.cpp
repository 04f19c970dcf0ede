#include "comm/background_gather.h"

#include <algorithm>

#include "comm/transports/messages.h"
#include "comm/world/runtime.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

constexpr std::size_t piece_bytes = 8 << 20;

/// Splits `bytes` into pieces and calls use(piece) for each, in order.
template <class Bytes, class Use>
void in_pieces(Bytes bytes, const Use& use) {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), piece_bytes);
    use(bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

}  // namespace

struct BackgroundGather::Transfer {
  Messages messages;
  std::vector<MPI_Request> requests = {};
};

BackgroundGather::BackgroundGather(const World& world)
    : transfer_(std::make_unique<Transfer>(
          Transfer{Messages(world.runtime().ranks.world, *world.runtime().watch)})) {}
BackgroundGather::~BackgroundGather() {
  for (MPI_Request& request : transfer_->requests) MPI_Request_free(&request);
}

bool BackgroundGather::pending() const { return !transfer_->requests.empty(); }

void BackgroundGather::start(std::span<const std::span<const std::byte>> own,
                             std::span<const std::vector<std::span<std::byte>>> parts) {
  const Messages& messages = transfer_->messages;
  std::vector<MPI_Request>& requests = transfer_->requests;
  if (messages.rank() != 0) {
    for (const auto& part : own) {
      in_pieces(part, [&](std::span<const std::byte> piece) { messages.send(requests, piece, 0); });
    }
    return;
  }
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    for (const auto& part : parts[rank]) {
      in_pieces(part, [&](std::span<std::byte> piece) { messages.receive(requests, piece, rank); });
    }
  }
}

bool BackgroundGather::poll() {
  std::vector<MPI_Request>& requests = transfer_->requests;
  if (requests.empty()) return true;
  int done = 0;
  check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
            "MPI_Testall");
  if (done != 0) requests.clear();
  return done != 0;
}

void BackgroundGather::wait() {
  const InCollective in(transfer_->messages.watch(), Collective::gather, Group::world);
  transfer_->messages.complete(transfer_->requests);
}

void BackgroundGather::gather(std::span<const float> own, std::span<const std::size_t> counts,
                              std::span<float> all) {
  std::vector<std::vector<std::span<std::byte>>> parts(counts.size());
  if (transfer_->messages.rank() == 0) {
    std::ranges::copy(own, all.begin());
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      parts[rank].push_back(std::as_writable_bytes(all.first(counts[rank])));
      all = all.subspan(counts[rank]);
    }
  }
  const std::span<const std::byte> sent = std::as_bytes(own);
  start({&sent, 1}, parts);
  wait();
}

}  // namespace lockstep
