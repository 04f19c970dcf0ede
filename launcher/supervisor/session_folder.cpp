#include "supervisor/session_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/files/temporary_folder.h"
#include "lockstep/error.h"

namespace lockstep::launcher {

void check_session_folder(const MpirunOptions& options) {
  const std::string parameter = "orte_tmpdir_base";
  if (std::getenv(("OMPI_MCA_" + parameter).c_str()) != nullptr) return;
  if (std::ranges::count(options.words(), parameter) > 0) return;
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
