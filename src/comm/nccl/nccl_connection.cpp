#include "comm/nccl/nccl_connection.h"

#include <fmt/format.h>
#include <sched.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/world/agreement.h"
#include "core/text/printable.h"
#include "device/host_probe.h"

namespace lockstep {
namespace {

/// Advice on the usual cause of failures in containers; empty if /dev/shm has room for `ranks` of this host.
std::string advice_on_shared_memory(int ranks) {
  const std::optional<std::uint64_t> free = probe_host().shared_free;
  if (!free || *free >= nccl_shared_bytes * static_cast<std::uint64_t>(ranks)) return {};
  return fmt::format(
      "; /dev/shm has only {} MiB free, which may be too little: in a container, make it larger with "
      "--shm-size=1g",
      *free >> 20);
}

}  // namespace

NcclConnection::NcclConnection(const NcclApi& api, Communicator& host, std::string device, int local_ranks)
    : api_(api), host_(host), device_(std::move(device)), local_ranks_(local_ranks) {
  const ncclUniqueId id = share_unique_id();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  try {
    check(api_.comm_init_rank_config(&raw_, host_.size(), id, host_.rank(), &config),
          "ncclCommInitRankConfig");
    settle("ncclCommInitRankConfig");
  } catch (...) {
    end_aborted();
    throw;
  }
}

NcclConnection::~NcclConnection() {
  if (std::uncaught_exceptions() == 0) finish();
  end_aborted();
}

/// Finishes the connection together with the peers.
void NcclConnection::finish() noexcept {
  if (raw_ == nullptr) return;
  try {
    check(api_.comm_finalize(raw_), "ncclCommFinalize");
    settle("ncclCommFinalize");
    api_.comm_destroy(std::exchange(raw_, nullptr));
  } catch (...) {
    abort();
  }
}

void NcclConnection::end_aborted() noexcept {
  abort();
  if (aborting_.joinable()) aborting_.join();
}

/// Returns the id that rank 0 makes. Throws on all ranks if rank 0 fails.
ncclUniqueId NcclConnection::share_unique_id() const {
  struct Made {
    ncclResult_t result;
    ncclUniqueId id;
  } made{};
  if (host_.rank() == 0) made.result = api_.get_unique_id(&made.id);
  std::vector<std::size_t> bytes(static_cast<std::size_t>(host_.size()), 0);
  bytes[0] = sizeof made;
  const Made own = made;
  host_.all_gather_bytes(std::as_bytes(std::span(&own, host_.rank() == 0 ? 1 : 0)), bytes,
                         std::as_writable_bytes(std::span(&made, 1)));
  if (made.result == ncclSuccess) return made.id;
  const std::string reason = fmt::format("ncclGetUniqueId: {}", api_.get_error_string(made.result));
  if (host_.rank() == 0) throw AgreedError(Category::resource, reason);
  throw PeerFailure(Category::resource, reason);
}

void NcclConnection::group(const std::function<void()>& calls) {
  if (raw_ == nullptr) throw Error(Category::peer, "NCCL was aborted");
  check(api_.group_start(), "ncclGroupStart");
  calls();
  check(api_.group_end(), "ncclGroupEnd");
  settle("ncclGroupEnd");
}

void NcclConnection::check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  fail(result, call, result == ncclRemoteError ? Category::peer : Category::resource);
}

void NcclConnection::check() {
  if (raw_ == nullptr) throw Error(Category::peer, "NCCL was aborted");
  const ncclResult_t now = state();
  if (now != ncclSuccess && now != ncclInProgress) fail(now, "asynchronous error", Category::peer);
  check_peers();
}

/// Aborts before it throws: unwinding frees memory, and freeing makes CUDA wait for NCCL's work.
void NcclConnection::check_peers() {
  try {
    host_.check();
  } catch (...) {
    abort();
    throw;
  }
}

ncclResult_t NcclConnection::state() {
  ncclResult_t state = ncclSuccess;
  check(api_.comm_get_async_error(raw_, &state), "ncclCommGetAsyncError");
  return state;
}

/// Waits until NCCL has completed `call`. Meanwhile yields the core and checks the peers.
void NcclConnection::settle(const char* call) {
  for (ncclResult_t now = state(); now != ncclSuccess; now = state()) {
    check(now, call);
    check_peers();
    sched_yield();
  }
}

/// Calls ncclCommAbort on a separate thread: it stops NCCL's work on the GPU at once, but then waits until
/// the graphs that contain such work are destroyed, which may happen after this function returns.
void NcclConnection::abort() noexcept {
  if (raw_ == nullptr) return;
  try {
    aborting_ = std::thread([abort = api_.comm_abort, raw = raw_] { abort(raw); });
  } catch (...) {  // without a thread, the communicator stays open until the process ends
  }
  raw_ = nullptr;
}

void NcclConnection::fail(ncclResult_t result, const char* call, Category category) {
  const char* last = raw_ != nullptr ? api_.get_last_error(raw_) : nullptr;
  std::string detail = last != nullptr ? last : "";
  while (!detail.empty() && detail.back() == '\n') detail.pop_back();
  const std::string message =
      fmt::format("{}: NCCL: {}: {}{}{}{}; NCCL_DEBUG=INFO says more", device_, call,
                  api_.get_error_string(result), detail.empty() ? "" : ": ", printable(detail),
                  category == Category::resource ? advice_on_shared_memory(local_ranks_) : "");
  abort();
  throw Error(category, message);
}

}  // namespace lockstep
