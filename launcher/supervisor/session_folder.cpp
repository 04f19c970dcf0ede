#include "supervisor/session_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/files/temporary_folder.h"
#include "core/process/process.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

/// Throws Error(resource) if `path`, mpirun's folder for sessions of this user, is not this user's.
void check_owner(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  const bool is_folder = S_ISDIR(status.st_mode);
  if (is_folder && (status.st_uid == geteuid() || access(path.c_str(), W_OK | X_OK) == 0)) return;
  const std::string why = is_folder ? "belongs to user " + std::to_string(status.st_uid) : "is no folder";
  throw Error(Category::resource, "mpirun needs " + path + " for its session, but it " + why +
                                      "; remove it, or set TMPDIR to another folder");
}

}  // namespace

void check_session_folder(const MpirunOptions& options) {
  // Parameters of Open MPI 4 and of PRRTE, the launcher of Open MPI 5, whose variables have another prefix.
  if (options.parameter("orte_tmpdir_base") || options.parameter("prte_tmpdir_base") ||
      std::getenv("PRTE_MCA_prte_tmpdir_base") != nullptr) {
    return;
  }
  const std::string folder = temporary_folder().string();
  std::string name = folder + "/lockstep-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(Category::resource,
                "mpirun needs a folder for its session, but " + folder +
                    " cannot be written to: " + std::strerror(errno) +
                    "; in a container, add --tmpfs=/tmp; elsewhere, set TMPDIR to another folder");
  }
  rmdir(name.c_str());
  // Open MPI 4 names its folder by the first label of the host's name, or by all of it
  // (orte_keep_fqdn_hostnames).
  const std::string host = host_name(), user = std::to_string(geteuid());
  check_owner(folder + "/ompi." + host + "." + user);
  check_owner(folder + "/ompi." + host.substr(0, host.find('.')) + "." + user);
  // Two files of 4 MiB and some smaller ones (Open MPI 4.1 with 1 to 8 ranks). If they do not fit, ranks fail
  // or hang.
  constexpr std::uintmax_t mebibyte = 1024 * 1024, needed = 9 * mebibyte;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  const std::uintmax_t left = geteuid() == 0 ? space.free : space.available;
  if (error || space.capacity == 0 || left >= needed) return;
  throw Error(Category::resource, "mpirun needs " + std::to_string(needed / mebibyte) +
                                      " MiB for its session, but " + folder + " has " +
                                      std::to_string(left / mebibyte) +
                                      " MiB free; make room there, or set TMPDIR to another folder");
}

}  // namespace lockstep::launcher
