#pragma once

#include <functional>
#include <string>
#include <thread>

#include "comm/communicator.h"
#include "comm/nccl/nccl_api.h"
#include "lockstep/error.h"

namespace lockstep {

/// Owner of a communicator of NCCL's, which does not block: finished together with the peers' at the end,
/// aborted where something failed or an exception unwinds. What was recorded with it must be gone before this
/// ends, not before it is aborted.
class NcclConnection {
 public:
  /// Connects the ranks of `host`. `device`: what errors name. Collective.
  NcclConnection(const NcclApi& api, Communicator& host, std::string device);
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  ncclComm_t get() const { return raw_; }

  /// Gives the operations of `calls` to NCCL as one, and waits until it has given them to their streams.
  void group(const std::function<void()>& calls);

  /// Aborts and throws Error(resource), or Error(peer) where a peer is the reason, unless `result`, that of
  /// the function `call`, is good.
  void check(ncclResult_t result, const char* call);

  /// Aborts and throws Error(peer) where NCCL or `host` knows of a failure. After that, throws again.
  void check();

 private:
  ncclUniqueId share_unique_id() const;
  ncclResult_t state() const;
  void settle(const char* call);
  void finish() noexcept;
  void abort() noexcept;
  void end_aborted() noexcept;
  [[noreturn]] void fail(ncclResult_t result, const char* call, Category category);

  const NcclApi api_;
  Communicator& host_;
  std::string device_;
  ncclComm_t raw_ = nullptr;
  std::thread aborting_;
};

}  // namespace lockstep
