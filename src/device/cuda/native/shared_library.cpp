#include "device/cuda/native/shared_library.h"

#include <dlfcn.h>

namespace lockstep::cuda {

SharedLibrary::SharedLibrary(const char* name)
    : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ != nullptr) return;
  const char* reason = dlerror();
  failure_ = reason != nullptr ? reason : "cannot be opened";
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::find(const char* name) const { return dlsym(handle_, name); }

}  // namespace lockstep::cuda
