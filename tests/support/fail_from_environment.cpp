// Linked into lockstep-failing, the lockstep program with failing calls to the file system. The environment
// chooses which calls fail:
//   FAILING_CALL=N    the Nth call fails, counted from 1
//   FAILING_FILE=TEXT each write to a file with this text in its path fails
//   FAILING_ERRNO=E   errno of the calls that fail
//   FAILING_LATER=1   all later calls fail, too
//   FAILING_RANK=R    calls fail on rank R only; without it, on all ranks
//   FAILING_SPACE=B   every disk has B free bytes
//   SLOW_FILE=TEXT    without failing, writes and fsync of files with this text in their paths take 1.5 s
//   FAILING_LOG=FILE  appends a line for each call of these ranks: "[FAILED ]NAME PATH[ w]", w if it writes
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "support/test_files.h"

namespace lockstep {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::uint64_t number_in(const char* name) { return std::strtoull(variable(name).c_str(), nullptr, 10); }

/// The function `error_of` of TestFiles.
class FaultFromEnvironment {
 public:
  int operator()(const FileCall& call) const {
    if (!on_this_rank_) return 0;
    if (has(call, slow_) && (call.name == "write" || call.name == "fsync")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
    const bool fails = (call_ != 0 && (later_ ? call.number >= call_ : call.number == call_)) ||
                       (has(call, file_) && call.name == "write");
    if (!log_.empty()) {
      append((fails ? "FAILED " : "") + call.name + " " + call.path.string() + (call.writes ? " w\n" : "\n"));
    }
    return fails ? error_ : 0;
  }

 private:
  /// Whether the path contains `text`; false if `text` is empty.
  static bool has(const FileCall& call, const std::string& text) {
    return !text.empty() && call.path.string().find(text) != std::string::npos;
  }
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
  std::string file_ = variable("FAILING_FILE");
  std::string slow_ = variable("SLOW_FILE");
  std::string log_ = variable("FAILING_LOG");
};

/// The system's files, without the time that fsync takes: the machine does not crash in these tests.
class FilesWithoutSync : public TestFiles {
 public:
  FilesWithoutSync() : TestFiles(system_files()) {}
  int fsync(int /*descriptor*/) override { return 0; }
  int free_space(const Path& path, std::uint64_t& bytes) override {
    if (variable("FAILING_SPACE").empty()) return TestFiles::free_space(path, bytes);
    bytes = number_in("FAILING_SPACE");
    return 0;
  }
};

FilesWithoutSync unsynced;
TestFiles failing(unsynced, FaultFromEnvironment());
const ScopedFiles replaced(failing);

}  // namespace
}  // namespace lockstep
