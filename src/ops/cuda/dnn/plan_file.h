#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lockstep::cuda {

/// Engine of a library that runs a problem.
struct EngineChoice {
  std::string engine;         ///< name that the library gives it
  double microseconds = 0.0;  ///< time in a measurement; 0: chosen without one
  bool operator==(const EngineChoice&) const = default;
};

/// Choices of engines that outlive a run, as a JSON file: {"format": "lockstep plans 1", "engines": {WHERE:
/// {PROBLEM: {"engine": NAME, "microseconds": TIME}}}}. WHERE: GPU and version of the library, so that one
/// file serves several.
class PlanFile {
 public:
  /// Opens the file at `path`. An empty path is a file that never exists; a file that does not exist is
  /// empty. Throws Error(data) naming file and reason if it is not such a file, Error(resource) if it cannot
  /// be read.
  PlanFile(std::filesystem::path path, std::string where);

  std::optional<EngineChoice> find(const std::string& problem) const;
  void set(const std::string& problem, const EngineChoice& choice);
  /// Contents of the file.
  std::string text() const;
  /// Replaces the file as a whole; see AtomicFile.
  void save() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string where_;
  std::map<std::string, std::map<std::string, EngineChoice>> engines_;
};

}  // namespace lockstep::cuda
