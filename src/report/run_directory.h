#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

/// Where a run keeps what it writes.
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

/// Makes `path` and its checkpoints folder, with parents, and writes the texts of options.cfg and
/// environment.json. Throws Error(usage) when the directory already holds a run (metrics.jsonl),
/// Error(resource) with the system's reason when something cannot be written, the models and the report that
/// come last included. Call on one rank.
RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment);

}  // namespace lockstep
