#include "supervisor/session_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files/temporary_folder.h"
#include "core/text/split.h"
#include "lockstep/error.h"

namespace lockstep::launcher {

namespace {

/// Parameters that choose the folder: of Open MPI 4, and of PRRTE, the launcher of Open MPI 5, whose
/// environment variables have a different prefix.
constexpr std::array<std::string_view, 3> parameters = {"orte_tmpdir_base", "orte_local_tmpdir_base",
                                                        "prte_tmpdir_base"};

/// Whether a parameter file, with lines "NAME = VALUE" or "--mca NAME VALUE", sets one of `parameters`.
bool file_chooses_session_folder(const std::string& file) {
  std::ifstream settings(file);
  for (std::string line; std::getline(settings, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    std::ranges::replace(line, '=', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (std::ranges::find(parameters, word) != parameters.end()) return true;
    }
  }
  return false;
}

/// Parameter files that Open MPI reads: the default ones, and the ones that options name.
std::vector<std::string> parameter_files(const MpirunOptions& options) {
  std::vector<std::string> files = {"/etc/openmpi/openmpi-mca-params.conf"};
  if (const char* const home = std::getenv("HOME")) {
    files.push_back(std::string(home) + "/.openmpi/mca-params.conf");
  }
  for (const std::string& list : options.values({"tune", "am"})) {
    for (const std::string& name : split(list, ',')) files.push_back(name);
  }
  return files;
}

}  // namespace

bool chooses_session_folder(const MpirunOptions& options) {
  const auto is_set = [&](std::string_view name) { return options.parameter(name).has_value(); };
  return std::ranges::any_of(parameters, is_set) || std::getenv("PRTE_MCA_prte_tmpdir_base") != nullptr ||
         std::ranges::any_of(parameter_files(options), file_chooses_session_folder);
}

void check_session_folder(const MpirunOptions& options) {
  if (chooses_session_folder(options)) return;
  const std::string folder = temporary_folder().string();
  std::string name = folder + "/lockstep-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(Category::resource,
                "mpirun needs a folder for its session, but " + folder +
                    " cannot be written to: " + std::strerror(errno) +
                    "; in a container, add --tmpfs=/tmp; elsewhere, set TMPDIR to another folder");
  }
  rmdir(name.c_str());
  // mpirun makes two files of 4 MiB and some smaller ones (Open MPI 4.1 with 1 to 8 ranks). If they do not
  // fit, ranks fail or hang.
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
