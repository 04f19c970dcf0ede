#include "comm/nccl/nccl_api.h"

#include <fmt/format.h>

#include "comm/gpu_communicator.h"
#include "device/cuda/native/shared_library.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class Library {
 public:
  explicit Library(const std::string& name) : name_(name), opened_(name.c_str()) {
    if (opened_) return;
    throw Error(
        Category::resource,
        fmt::format("NCCL cannot be opened: {}; install it, name its folder in LD_LIBRARY_PATH, or use "
                    "the transport by messages",
                    opened_.failure()));
  }
  template <class Function>
  void find(Function*& function, const char* symbol) const {
    function = opened_.function<Function>(symbol);
    if (function != nullptr) return;
    throw Error(Category::resource, fmt::format("{} has no {}: NCCL 2.18 or newer is wanted", name_, symbol));
  }

 private:
  std::string name_;
  cuda::SharedLibrary opened_;
};

}  // namespace

NcclApi load_nccl(const std::string& library) {
  const Library nccl(library);
  NcclApi api{};
  nccl.find(api.get_version, "ncclGetVersion");
  nccl.find(api.get_error_string, "ncclGetErrorString");
  nccl.find(api.get_last_error, "ncclGetLastError");
  nccl.find(api.get_unique_id, "ncclGetUniqueId");
  nccl.find(api.comm_init_rank_config, "ncclCommInitRankConfig");
  nccl.find(api.comm_get_async_error, "ncclCommGetAsyncError");
  nccl.find(api.comm_finalize, "ncclCommFinalize");
  nccl.find(api.comm_destroy, "ncclCommDestroy");
  nccl.find(api.comm_abort, "ncclCommAbort");
  nccl.find(api.group_start, "ncclGroupStart");
  nccl.find(api.group_end, "ncclGroupEnd");
  nccl.find(api.send, "ncclSend");
  nccl.find(api.recv, "ncclRecv");
  nccl.find(api.all_reduce, "ncclAllReduce");
  version_of(api);
  return api;
}

std::string version_of(const NcclApi& api) {
  int code = 0;
  if (api.get_version(&code) != ncclSuccess)
    throw Error(Category::resource, "NCCL does not tell its version");
  std::string version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  if (code < NCCL_VERSION(2, 18, 0)) {
    throw Error(Category::resource, fmt::format("NCCL {} is too old: 2.18 or newer is wanted", version));
  }
  return version;
}

std::string nccl_version() { return version_of(load_nccl()); }

}  // namespace lockstep
