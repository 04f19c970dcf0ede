#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

/// Files of a run directory.
struct RunDirectory {
  std::filesystem::path path;

  std::filesystem::path options() const { return path / "options.cfg"; }
  std::filesystem::path environment() const { return path / "environment.json"; }
  std::filesystem::path plans() const { return path / "plans.json"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
  std::filesystem::path final_model() const { return checkpoints() / "final.safetensors"; }
  std::filesystem::path best() const { return checkpoints() / "best.safetensors"; }
  std::filesystem::path report() const { return path / "report.html"; }
};

/// Creates `path` with its parents and its checkpoints folder, and writes options.cfg and environment.json
/// with these texts. Throws Error(usage) if the directory already holds a run (metrics.jsonl),
/// Error(resource) with the system's reason if a file cannot be written, including the models and the report
/// at the end of the run. Call on one rank.
RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment);

}  // namespace lockstep
