// Linked into lockstep-failing, the program with a call to the file system that fails. The environment says
// which:
//   FAILING_CALL=N    the Nth call, from 1; without it, none
//   FAILING_ERRNO=E   fails with errno E
//   FAILING_LATER=1   and all later calls too
//   FAILING_RANK=R    on rank R only; without it, on all ranks
//   FAILING_LOG=FILE  appends a line for each call of these ranks: "[FAILED ]NAME PATH[ w]", w if it writes
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "support/failing_files.h"

namespace lockstep {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::uint64_t number_in(const char* name) { return std::strtoull(variable(name).c_str(), nullptr, 10); }

/// The function `error_of` of FailingFiles.
class FaultFromEnvironment {
 public:
  int operator()(const FileCall& call) const {
    if (!on_this_rank_) return 0;
    const bool fails = call_ != 0 && (later_ ? call.number >= call_ : call.number == call_);
    if (!log_.empty()) {
      append((fails ? "FAILED " : "") + call.name + " " + call.path.string() + (call.writes ? " w\n" : "\n"));
    }
    return fails ? error_ : 0;
  }

 private:
  void append(const std::string& line) const {
    const int file = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (::write(file, line.data(), line.size()) < 0) std::abort();
    ::close(file);
  }

  std::uint64_t call_ = number_in("FAILING_CALL");
  int error_ = static_cast<int>(number_in("FAILING_ERRNO"));
  bool later_ = number_in("FAILING_LATER") != 0;
  bool on_this_rank_ =
      variable("FAILING_RANK") == variable("OMPI_COMM_WORLD_RANK") || variable("FAILING_RANK").empty();
  std::string log_ = variable("FAILING_LOG");
};

/// The system's files, without waiting for the disk: the machine does not crash in these tests.
class FilesWithoutSync : public FailingFiles {
 public:
  FilesWithoutSync() : FailingFiles(system_files(), [](const FileCall&) { return 0; }) {}
  int fsync(int /*descriptor*/) override { return 0; }
};

FilesWithoutSync unsynced;
FailingFiles failing(unsynced, FaultFromEnvironment());
const ScopedFiles replaced(failing);

}  // namespace
}  // namespace lockstep
