#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/nccl/nccl_communicator.h"
#include "fake_cuda/fake_cuda.h"
#include "lockstep/error.h"

namespace lockstep {

/// NCCL between threads on the fake CUDA runtime. Enforces the rules of non-blocking communicators and fails
/// on request. A wait that would last forever with NCCL ends and fails the test. Only one instance may exist
/// at a time, and it must outlive its ranks.
class FakeNccl {
 public:
  FakeNccl() { current = this; }
  ~FakeNccl() { current = nullptr; }
  static NcclApi api();
  /// Options with sums of only a few elements.
  static NcclOptions options() { return {.api = api(), .largest_sum = 100}; }

  int polls = 3;  ///< number of "in progress" replies after each asynchronous call
  struct Failure {
    int rank = -1;
    ncclResult_t result = ncclSuccess;
  };
  Failure in_unique_id, in_init;
  bool never_ready = false;                              ///< ranks wait for a rank that failed
  std::atomic<ncclResult_t> asynchronous = ncclSuccess;  ///< asynchronous error that rank 0 finds from now on
  std::function<void()> waits_in_abort = [] {};          ///< called while an abort waits for graphs
  std::atomic<bool> gone = false;                        ///< whether the hosts see that a rank has ended

  /// Per rank: names of the calls that create, finalize or abort communicators.
  std::map<int, std::vector<std::string>> calls;

 private:
  struct Rank {
    int rank, size;
    int polls_left;
    ncclResult_t state = ncclSuccess;
    std::thread::id thread = std::this_thread::get_id();
    int polls_in_vain = 0;                ///< polls since the state became final
    std::set<cudaStream_t> streams = {};  ///< streams of its operations
    bool in_progress() const { return polls_left > 0; }
  };
  struct Operation {
    cudaStream_t stream;
    bool sends;
    const void* memory;
    std::function<void()> work;
  };
  static Rank& of(ncclComm_t handle) { return *reinterpret_cast<Rank*>(handle); }
  void log(int rank, const std::string& call) {
    const std::lock_guard lock(mutex_);
    calls[rank].push_back(call);
  }
  void note_free(int rank) {
    const std::lock_guard lock(mutex_);
    freed_.insert(rank);
  }
  /// Freeing memory waits for NCCL's work, and forever if a peer has ended.
  void check_frees(int rank) {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(freed_.contains(rank)) << "NCCL: memory of rank " << rank << " was freed while it was used";
  }
  void put(int from, int to, std::vector<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    mail_[{from, to}].push_back(std::move(bytes));
    arrived_.notify_all();
  }
  /// Takes the message; zeros if it can no longer arrive.
  std::vector<std::byte> take(int from, int to, std::size_t count) {
    std::unique_lock lock(mutex_);
    auto& box = mail_[{from, to}];
    static std::atomic<int> patience = 10;  // seconds
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience);
    while (box.empty() && !gone) {
      arrived_.wait_for(lock, std::chrono::milliseconds(1));
      if (std::chrono::steady_clock::now() < end || !box.empty() || gone.exchange(true)) continue;
      patience = 1;
      ADD_FAILURE() << "NCCL: rank " << to << " waits for data that rank " << from << " does not send";
    }
    if (box.empty()) return std::vector<std::byte>(count);
    std::vector<std::byte> bytes = std::move(box.front());
    box.pop_front();
    EXPECT_EQ(bytes.size(), count) << "NCCL: a message of another length";
    bytes.resize(count);
    return bytes;
  }
  /// Operations must be in a group and may only be called while nothing is in progress.
  static ncclResult_t add(ncclComm_t handle, Operation operation) {
    if (!grouped || of(handle).in_progress()) return ncclInvalidUsage;
    group_of = &of(handle);
    group_of->streams.insert(operation.stream);
    group.push_back(std::move(operation));
    return ncclSuccess;
  }

  static ncclResult_t init(ncclComm_t* handle, int size, ncclUniqueId id, int rank, ncclConfig_t* config);
  static ncclResult_t state(ncclComm_t handle, ncclResult_t* result);
  static ncclResult_t group_end();
  static ncclResult_t all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                 ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream);

  static inline FakeNccl* current = nullptr;
  static inline thread_local bool grouped = false;
  static inline thread_local Rank* group_of = nullptr;
  static inline thread_local std::vector<Operation> group;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail_;
  std::set<int> freed_;  ///< ranks that freed memory while work was in progress
};

inline ncclResult_t FakeNccl::init(ncclComm_t* handle, int size, ncclUniqueId id, int rank,
                                   ncclConfig_t* config) {
  if (config->blocking != 0 || std::string(id.internal) != "the id") return ncclInvalidArgument;
  auto* made = new Rank{rank, size, current->polls};
  *handle = reinterpret_cast<ncclComm_t>(made);
  current->log(rank, "init");
  if (rank == current->in_init.rank) made->state = current->in_init.result;
  return ncclInProgress;
}

inline ncclResult_t FakeNccl::state(ncclComm_t handle, ncclResult_t* result) {
  Rank& rank = of(handle);
  if (rank.in_progress()) {
    const bool waits = current->never_ready && rank.rank != current->in_init.rank;
    if (!waits) --rank.polls_left;
    *result = ncclInProgress;
  } else {
    *result = rank.state;
    if (rank.rank == 0 && current->asynchronous != ncclSuccess) *result = current->asynchronous;
  }
  if (*result == ncclSuccess || (*result == ncclInProgress && !current->gone)) {
    rank.polls_in_vain = 0;
  } else if (++rank.polls_in_vain >= 1000) {
    if (rank.polls_in_vain == 1000) {
      ADD_FAILURE() << "NCCL: rank " << rank.rank << " waits, although "
                    << (*result == ncclInProgress ? "a rank has ended" : "NCCL has failed");
    }
    *result = ncclSuccess;
  }
  return ncclSuccess;
}

/// All sends precede all waits, because the operations of a group are unordered.
inline ncclResult_t FakeNccl::group_end() {
  grouped = false;
  for (const bool sends : {true, false}) {
    for (Operation& operation : group) {
      if (operation.sends != sends) continue;
      const auto run = [fake = current, rank = group_of->rank, work = std::move(operation.work)] {
        if (fake_cuda::is_freeing()) fake->note_free(rank);
        work();
      };
      const auto memory = std::as_bytes(std::span(&operation.memory, 1));
      if (fake_cuda::launch(operation.stream, "NCCL", memory, run) != cudaSuccess)
        return ncclUnhandledCudaError;
    }
  }
  if (!group.empty()) group_of->polls_left = current->polls;
  group.clear();
  return ncclInProgress;
}

inline ncclResult_t FakeNccl::all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                         ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  if (type != ncclFloat || operation != ncclSum) return ncclInvalidArgument;
  const int rank = of(handle).rank, size = of(handle).size;  // work may outlive the communicator
  const std::size_t bytes = count * sizeof(float);
  const auto send = [=, fake = current] {
    const auto* data = static_cast<const std::byte*>(from);
    for (int peer = 0; peer < size; ++peer) fake->put(rank, peer, {data, data + bytes});
  };
  const ncclResult_t sent = add(handle, {stream, true, from, send});
  if (sent != ncclSuccess) return sent;
  const auto receive = [=, fake = current] {
    auto* sum = static_cast<float*>(to);
    std::fill_n(sum, count, 0.0F);
    for (int peer = 0; peer < size; ++peer) {
      const std::vector<std::byte> part = fake->take(peer, rank, bytes);
      for (std::size_t i = 0; i < count; ++i) {
        float value = 0.0F;
        std::memcpy(&value, part.data() + i * sizeof value, sizeof value);
        sum[i] += value;
      }
    }
  };
  return add(handle, {stream, false, to, receive});
}

inline NcclApi FakeNccl::api() {
  NcclApi api{};
  api.get_version = [](int* version) {
    *version = 22809;
    return ncclSuccess;
  };
  api.get_error_string = [](ncclResult_t result) {
    return result == ncclRemoteError ? "remote error" : "unhandled system error";
  };
  api.get_last_error = [](ncclComm_t) { return "no route to host\n"; };
  api.get_unique_id = [](ncclUniqueId* id) {
    std::strcpy(id->internal, "the id");
    return current->in_unique_id.result;
  };
  api.comm_init_rank_config = init;
  api.comm_get_async_error = state;
  api.comm_finalize = [](ncclComm_t handle) {
    for (cudaStream_t stream : of(handle).streams) cudaStreamSynchronize(stream);
    current->log(of(handle).rank, "finalize");
    current->check_frees(of(handle).rank);
    of(handle).polls_left = current->polls;
    return ncclInProgress;
  };
  api.comm_destroy = [](ncclComm_t handle) {
    if (of(handle).in_progress()) return ncclInvalidUsage;
    current->log(of(handle).rank, "destroy");
    delete &of(handle);
    return ncclSuccess;
  };
  api.comm_abort = [](ncclComm_t handle) {
    current->log(of(handle).rank, "abort");
    if (of(handle).thread != std::this_thread::get_id()) {
      current->waits_in_abort();
    } else {
      ADD_FAILURE() << "NCCL: an abort waits for graphs that its own thread has to destroy";
    }
    delete &of(handle);
    return ncclSuccess;
  };
  api.group_start = [] {
    grouped = true;
    return ncclSuccess;
  };
  api.group_end = group_end;
  api.send = [](const void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t handle,
                cudaStream_t stream) {
    const auto* bytes = static_cast<const std::byte*>(data);
    const auto send = [=, fake = current, rank = of(handle).rank] {
      fake->put(rank, peer, {bytes, bytes + count});
    };
    return add(handle, {stream, true, data, send});
  };
  api.recv = [](void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t handle,
                cudaStream_t stream) {
    const auto receive = [=, fake = current, rank = of(handle).rank] {
      std::memcpy(data, fake->take(peer, rank, count).data(), count);
    };
    return add(handle, {stream, false, data, receive});
  };
  api.all_reduce = all_reduce;
  return api;
}

}  // namespace lockstep
