#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lockstep::cuda {

/// Engine of a library chosen for a problem.
struct EngineChoice {
  std::string engine;         ///< the library's name
  double microseconds = 0.0;  ///< of a timing run; 0: not timed
  bool operator==(const EngineChoice&) const = default;
};

/// JSON file of chosen engines: {"format": "lockstep plans 1", "engines": {WHERE: {PROBLEM: {"engine": NAME,
/// "microseconds": TIME}}}}. WHERE is the GPU and the version of the library; a file may contain several.
class PlanFile {
 public:
  /// Reads the file; a missing file and an empty path give no choices. Throws Error(data) with file and
  /// reason for other contents, and the errors of read_text.
  PlanFile(std::filesystem::path path, std::string where);

  std::optional<EngineChoice> find(const std::string& problem) const;
  void set(const std::string& problem, const EngineChoice& choice);
  /// Adds the choices of the text of another file, which replace equal problems'. Throws as the constructor.
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
