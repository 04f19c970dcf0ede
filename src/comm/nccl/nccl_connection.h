#pragma once

#include <functional>
#include <string>
#include <thread>

#include "comm/communicator.h"
#include "comm/nccl/nccl_api.h"
#include "lockstep/error.h"

namespace lockstep {

/// Owner of a non-blocking NCCL communicator. The destructor finishes the communicator together with the
/// peers; after a failure or while an exception unwinds, it is aborted. Recordings that contain its
/// operations must be destroyed before the connection, but may still exist when it is aborted.
class NcclConnection {
 public:
  /// Connects the ranks of `host`. `device`: name of the device, and `local_ranks`: number of ranks on this
  /// host, both for error messages. Collective.
  NcclConnection(const NcclApi& api, Communicator& host, std::string device, int local_ranks);
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  ncclComm_t get() const { return raw_; }

  /// Submits the operations of `calls` to NCCL as one group, and waits until NCCL has enqueued them.
  void group(const std::function<void()>& calls);

  /// Checks `result`, which the function `call` returned. On failure, aborts and throws Error(resource), or
  /// Error(peer) if a peer is the cause.
  void check(ncclResult_t result, const char* call);

  /// Aborts and throws Error(peer) if NCCL or `host` reports a failure. Later calls throw again.
  void check();

 private:
  ncclUniqueId share_unique_id() const;
  void check_peers();
  ncclResult_t state();
  void settle(const char* call);
  void finish() noexcept;
  void abort() noexcept;
  void end_aborted() noexcept;
  [[noreturn]] void fail(ncclResult_t result, const char* call, Category category);

  const NcclApi api_;
  Communicator& host_;
  std::string device_;
  int local_ranks_;
  ncclComm_t raw_ = nullptr;
  std::thread aborting_;
};

}  // namespace lockstep
