#include "comm/nccl/nccl_api.h"

#include <fmt/format.h>

#include <type_traits>

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
  NcclApi api{};
  for_each_nccl_function([&]<auto member>(const char* symbol) {
    api.*member = opened.function<std::remove_reference_t<decltype(*(api.*member))>>(symbol);
    if (api.*member != nullptr) return;
    throw Error(Category::resource,
                fmt::format("{} has no {}: NCCL 2.18 or newer is required", library, symbol));
  });
  version_of(api);
  return api;
}

std::string version_of(const NcclApi& api) {
  int code = 0;
  if (api.get_version(&code) != ncclSuccess)
    throw Error(Category::resource, "ncclGetVersion: NCCL does not report its version");
  std::string version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  if (code < NCCL_VERSION(2, 18, 0)) {
    throw Error(Category::resource, fmt::format("NCCL {} is too old: 2.18 or newer is required", version));
  }
  return version;
}

std::string nccl_version() { return version_of(load_nccl()); }

}  // namespace lockstep
