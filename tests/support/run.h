#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::test {

/// Status and output of a program that has ended.
struct Outcome {
  int status = 0;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;
  long resident_kilobytes = 0;  ///< most that one of its processes ever held in memory
};

/// Runs `command` and waits. `environment`: NAME=VALUE, added to this process's.
Outcome run(const std::vector<std::string>& command, const std::vector<std::string>& environment = {});

/// Runs `program` on `ranks` ranks under mpirun; 0: without mpirun.
Outcome mpirun(const std::string& program, int ranks, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment = {});
/// Runs the lockstep program on `ranks` ranks under mpirun; 0: without mpirun.
Outcome lockstep(int ranks, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {});

/// Empty folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Writes the first `train` and `test` samples of Fashion-MNIST into `folder` as plain IDX files, for
/// --data-dir: runs of a tenth of a second on real data.
void write_small_fashion_mnist(const TemporaryFolder& folder, std::uint32_t train, std::uint32_t test);

/// Number of occurrences of `part` in `text`.
int count(const std::string& text, const std::string& part);

/// The line of `text` that starts with `start`, without it; fails the test when there is none.
std::string line_after(const std::string& text, const std::string& start);

}  // namespace lockstep::test
