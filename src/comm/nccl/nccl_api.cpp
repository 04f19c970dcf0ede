#include "comm/nccl/nccl_api.h"

#include <fmt/format.h>

#include "comm/gpu_communicator.h"
#include "device/cuda/native/shared_library.h"
#include "lockstep/error.h"

namespace lockstep {
NcclApi load_nccl(const std::string& library) {
  const cuda::SharedLibrary opened(library.c_str());
  if (!opened) {
    throw Error(
        Category::resource,
        fmt::format("NCCL cannot be opened: {}; install it, name its folder in LD_LIBRARY_PATH, or use "
                    "the transport by messages",
                    opened.failure()));
  }
  const auto find = [&]<class Function>(Function*& function, const char* symbol) {
    function = opened.function<Function>(symbol);
    if (function != nullptr) return;
    throw Error(Category::resource,
                fmt::format("{} has no {}: NCCL 2.18 or newer is required", library, symbol));
  };
  NcclApi api{};
  find(api.get_version, "ncclGetVersion");
  find(api.get_error_string, "ncclGetErrorString");
  find(api.get_last_error, "ncclGetLastError");
  find(api.get_unique_id, "ncclGetUniqueId");
  find(api.comm_init_rank_config, "ncclCommInitRankConfig");
  find(api.comm_get_async_error, "ncclCommGetAsyncError");
  find(api.comm_finalize, "ncclCommFinalize");
  find(api.comm_destroy, "ncclCommDestroy");
  find(api.comm_abort, "ncclCommAbort");
  find(api.group_start, "ncclGroupStart");
  find(api.group_end, "ncclGroupEnd");
  find(api.send, "ncclSend");
  find(api.recv, "ncclRecv");
  find(api.all_reduce, "ncclAllReduce");
  version_of(api);
  return api;
}

std::string version_of(const NcclApi& api) {
  int code = 0;
  if (api.get_version(&code) != ncclSuccess)
    throw Error(Category::resource, "NCCL does not report its version");
  std::string version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  if (code < NCCL_VERSION(2, 18, 0)) {
    throw Error(Category::resource, fmt::format("NCCL {} is too old: 2.18 or newer is required", version));
  }
  return version;
}

std::string nccl_version() { return version_of(load_nccl()); }

}  // namespace lockstep
