#include "supervisor/session_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/files/temporary_folder.h"
#include "lockstep/error.h"

namespace lockstep::launcher {

void check_session_folder() {
  const std::string folder = temporary_folder().string();
  std::string name = folder + "/lockstep-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(Category::resource,
                "mpirun needs a folder for its session, but " + folder +
                    " cannot be written to: " + std::strerror(errno) +
                    "; in a container, add --tmpfs=/tmp; elsewhere, set TMPDIR to another folder");
  }
  rmdir(name.c_str());
}

}  // namespace lockstep::launcher
