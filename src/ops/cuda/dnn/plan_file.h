#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lockstep::cuda {

/// Which engine of a library runs a problem.
struct EngineChoice {
  std::string engine;         ///< the library's name for it
  double microseconds = 0.0;  ///< of a timing run; 0: chosen without one
  bool operator==(const EngineChoice&) const = default;
};

/// Choices of engines that outlive a run, as a JSON file: {"format": "lockstep plans 1", "engines": {WHERE:
/// {PROBLEM: {"engine": NAME, "microseconds": TIME}}}}. WHERE: GPU and version of the library, so that one
/// file serves several.
class PlanFile {
 public:
  /// An empty path is a file that is never there. Throws Error(data) naming file and reason for anything
  /// that is not such a file, Error(resource) where it cannot be read; one that does not exist is empty.
  PlanFile(std::filesystem::path path, std::string where);

  std::optional<EngineChoice> find(const std::string& problem) const;
  void set(const std::string& problem, const EngineChoice& choice);
  /// Text that the file would hold.
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
