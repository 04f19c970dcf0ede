#include "ops/cuda/dnn/native/cudnn_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

constexpr const char* file_name = "libcudnn.so.9";

std::string reason_of_linker() {
  const char* reason = dlerror();
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace

const CudnnLibrary& CudnnLibrary::open() {
  static const CudnnLibrary library;  // after an exception, the next call tries again
  return library;
}

CudnnLibrary::CudnnLibrary() : handle_(dlopen(file_name, RTLD_NOW | RTLD_GLOBAL)) {
  if (handle_ == nullptr) {
    throw Error(
        Category::resource,
        fmt::format("cuDNN 9 cannot be opened ({}); install it, or put its folder into LD_LIBRARY_PATH",
                    reason_of_linker()));
  }
}

void* CudnnLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    throw Error(Category::resource, fmt::format("{}: {}", file_name, reason_of_linker()));
  }
  return address;
}

std::string CudnnLibrary::version() const {
  const std::size_t number = function<decltype(cudnnGetVersion)>("cudnnGetVersion")();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void CudnnLibrary::check(cudnnStatus_t status, const char* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::string details(512, '\0');
  function<decltype(cudnnGetLastErrorString)>("cudnnGetLastErrorString")(details.data(), details.size());
  details.resize(std::min(details.find('\0'), details.size()));
  std::replace(details.begin(), details.end(), '\n', ' ');
  const char* reason = function<decltype(cudnnGetErrorString)>("cudnnGetErrorString")(status);
  throw Error(Category::resource,
              fmt::format("{}: {}{}{}", call, reason, details.empty() ? "" : ": ", details));
}

CudnnHandle::CudnnHandle(const CudnnLibrary& library) : library_(library) {
  library.check(library.function<decltype(cudnnCreate)>("cudnnCreate")(&raw_), "cudnnCreate");
}

CudnnHandle::~CudnnHandle() {
  // NOLINTNEXTLINE(bugprone-exception-escape): the library has this symbol if the handle was created
  library_.function<decltype(cudnnDestroy)>("cudnnDestroy")(raw_);
}

cudnnHandle_t CudnnHandle::on(StreamHandle stream) const {
  library_.check(library_.function<decltype(cudnnSetStream)>("cudnnSetStream")(raw_, stream),
                 "cudnnSetStream");
  return raw_;
}

}  // namespace lockstep::cuda
