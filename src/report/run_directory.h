#pragma once

#include <cstddef>
#include <cstdint>
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
  std::filesystem::path lock() const { return path / "lock"; }
  /// Samples of a step whose loss, or the norm of whose gradient, is not finite.
  std::filesystem::path not_finite(std::uint64_t step) const;
  /// Number of these files. Throws Error(resource).
  std::size_t not_finite_files() const;
  std::filesystem::path report() const { return path / "report.html"; }
};

/// Creates an empty folder NAME-N in `parent`, with its parents, N being the number after the largest
/// one there, from 1. Throws Error(resource).
std::filesystem::path new_run_folder(const std::filesystem::path& parent, const std::string& name);
/// Path of the folder NAME-N in `parent` with the largest N; empty: there is none.
std::filesystem::path latest_run_folder(const std::filesystem::path& parent, const std::string& name);

/// Creates `path` with its parents and its checkpoints folder, and writes options.cfg and environment.json
/// with these texts. Throws Error(usage) if the directory already holds a run (metrics.jsonl), unless the run
/// `continues` there, Error(resource) with the system's reason if a file cannot be written, including the
/// models and the report at the end of the run. Call on one rank.
RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment, bool continues = false);

/// Removes from metrics.jsonl what it says of steps after `step` and of epochs after `epoch`, and of the end.
/// Also leaves out lines that a crash of the machine has damaged, and returns the number of those among the
/// others. Throws Error(resource).
std::size_t cut_metrics(const RunDirectory& directory, std::uint64_t step, int epoch);

}  // namespace lockstep
