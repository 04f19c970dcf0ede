#include "run/checkpoint/checkpoint_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;
using Kind = CheckpointName::Kind;

constexpr std::string_view step_prefix = "step-";
constexpr std::size_t min_digits = 8;

/// Names of the entries of `folder`; empty if the folder is missing.
std::vector<std::string> names_in(const Path& folder) {
  return with_permission_advice([&] {
    return file_kind(folder) == FileKind::missing ? std::vector<std::string>() : list_folder(folder);
  });
}

bool is_listed(const CheckpointName& name) { return name.kind == Kind::whole || name.kind == Kind::replaced; }

}  // namespace

NewerFormat::NewerFormat(const std::string& file, std::uint64_t found, std::uint64_t known)
    : Error(Category::data,
            fmt::format("{}: made by a newer lockstep: its format is {}, and this version reads format {}; "
                        "use the newer version",
                        file, found, known)) {}

std::optional<CheckpointName> parse_checkpoint_name(std::string_view name) {
  CheckpointName result;
  const bool hidden = name.starts_with('.');
  if (hidden) name.remove_prefix(1);
  if (!name.starts_with(step_prefix)) return std::nullopt;
  name.remove_prefix(step_prefix.size());
  const std::string_view digits = name.substr(0, name.find('.'));
  result.step = whole_number<std::uint64_t>(digits).value_or(0);
  if (digits != fmt::format("{:0{}}", result.step, min_digits)) return std::nullopt;
  name.remove_prefix(digits.size());
  if (hidden) {
    result.kind = Kind::temporary;
    return is_random_ending(name, ".tmp") ? std::optional(result) : std::nullopt;
  }
  if (name.empty()) return result;
  const bool aside = is_random_ending(name, result.aside_ending);
  result.kind = aside ? Kind::aside : Kind::replaced;
  return aside || is_random_ending(name, result.replaced_ending) ? std::optional(result) : std::nullopt;
}

std::string checkpoint_name(std::uint64_t step) {
  return fmt::format("{}{:0{}}", step_prefix, step, min_digits);
}

std::vector<CheckpointEntry> checkpoint_entries(const Path& folder) {
  std::vector<CheckpointEntry> entries;
  for (const std::string& name : names_in(folder)) {
    const auto parsed = parse_checkpoint_name(name);
    if (parsed && !is_file(folder / name)) entries.push_back({folder / name, *parsed});
  }
  std::ranges::sort(entries, [](const CheckpointEntry& a, const CheckpointEntry& b) {
    return a.name.step != b.name.step ? a.name.step > b.name.step : a.name.kind < b.name.kind;
  });
  return entries;
}

bool lacks_manifest(const Path& checkpoint) {
  FileStatus status;
  return files().stat(CheckpointFolder{checkpoint}.manifest(), status) != 0 && errno == ENOENT;
}

bool is_checkpoint(const Path& folder) { return is_file(CheckpointFolder{folder}.manifest()); }

std::vector<Path> list_checkpoints(const Path& folder) {
  std::vector<Path> checkpoints;
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
    if (is_listed(entry.name) && !lacks_manifest(entry.path)) checkpoints.push_back(entry.path);
  }
  return checkpoints;
}

void check_manifests(const Path& folder) {
  if (!list_checkpoints(folder).empty()) return;
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
    if (!is_listed(entry.name)) continue;
    refuse_file(entry.path,
                "its MANIFEST is missing: the folder was copied in part, or was being removed when the run "
                "was killed; copy all of its files, or remove it to begin the run again");
  }
}

}  // namespace lockstep
