#include "cli/model/find_checkpoints.h"

#include <fmt/format.h>

#include <span>

#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"
#include "run/run_folder.h"

namespace lockstep {

std::vector<std::filesystem::path> find_checkpoints(const std::filesystem::path& path) {
  if (is_checkpoint(path)) return {path};
  if (file_kind(path) != FileKind::folder) {
    throw Error(Category::data,
                fmt::format("{}: no such folder; name a checkpoint or a run directory", path.string()));
  }
  for (const auto& folder : {RunFolder(path).checkpoints(), path}) {
    if (auto checkpoints = list_checkpoints(folder); !checkpoints.empty()) return checkpoints;
    check_manifests(folder);
  }
  throw Error(
      Category::data,
      fmt::format("{}: no checkpoint here: neither MANIFEST nor folders checkpoints/step-*", path.string()));
}

Checkpoint open_checkpoint(const std::filesystem::path& path, bool warns) {
  const auto checkpoints = find_checkpoints(path);
  for (const auto& checkpoint : std::span(checkpoints).first(checkpoints.size() - 1)) {
    try {
      return read_checkpoint(checkpoint);
    } catch (const NewerFormat&) {
      throw;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      if (warns) print_warning(fmt::format("{}; the checkpoint before it is used", error.what()));
    }
  }
  return read_checkpoint(checkpoints.back());
}

std::filesystem::path short_form(const std::filesystem::path& path) {
  const std::filesystem::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

std::filesystem::path run_of(const std::filesystem::path& checkpoint) {
  std::filesystem::path path = short_form(checkpoint);
  const bool names_folders = path.parent_path().has_parent_path() && *path.begin() != "..";
  if (!names_folders) path = short_form(std::filesystem::absolute(path));
  const std::filesystem::path folder = path.parent_path(), run = folder.parent_path();
  return folder == RunFolder(run).checkpoints() ? run : std::filesystem::path();
}

std::filesystem::path run_or_checkpoint(const std::filesystem::path& path) {
  const std::filesystem::path named = short_form(path);
  const std::filesystem::path run = run_of(named / "step");
  return run.empty() || list_checkpoints(named).empty() ? named : run;
}

std::vector<std::string> find_models(const std::filesystem::path& path) {
  const std::filesystem::path place = run_or_checkpoint(path);
  std::vector<std::string> models;
  if (is_checkpoint(place)) return models;
  for (const auto& file : {RunFolder(place).best(), RunFolder(place).final_model()}) {
    if (file_kind(file) == FileKind::file) models.push_back(file.string());
  }
  return models;
}

std::filesystem::path find_run(const std::filesystem::path& path) {
  const std::filesystem::path named = run_or_checkpoint(path);
  return is_checkpoint(named) ? run_of(named) : named;
}

std::filesystem::path find_options(const std::filesystem::path& path) {
  const std::filesystem::path run = find_run(path);
  std::filesystem::path options = RunFolder(run).options();
  if (run.empty() || file_kind(options) != FileKind::file) return {};
  with_permission_advice([&] { const InputFile probe(options); });
  return options;
}

}  // namespace lockstep
