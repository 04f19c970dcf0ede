#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lockstep::cuda {

/// Engine of a library chosen for a problem.
struct EngineChoice {
  std::string engine;         ///< the library's name
  double microseconds = 0.0;  ///< measured time of a run; 0: not timed
  bool operator==(const EngineChoice&) const = default;
};

/// JSON file of chosen engines: {"format": "lockstep plans 1", "engines": {WHERE: {PROBLEM: {"engine": NAME,
/// "microseconds": TIME}}}}. WHERE names the GPU and the version of the library; a file may cover several of
/// them.
class PlanFile {
 public:
  /// Reads the file; a missing file or an empty path yields no choices. Throws Error(data) with file and
  /// reason if the contents are invalid, and the errors of read_text.
  PlanFile(std::filesystem::path path, std::string where);

  std::optional<EngineChoice> find(const std::string& problem) const;
  void set(const std::string& problem, const EngineChoice& choice);
  /// Adds the choices in `text`, the contents of another file; they replace choices for the same problems.
  /// Throws like the constructor.
  void add(const std::string& text);
  std::string text() const;
  /// Replaces the file atomically; see AtomicFile.
  void save() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string where_;
  std::map<std::string, std::map<std::string, EngineChoice>> engines_;
};

}  // namespace lockstep::cuda
