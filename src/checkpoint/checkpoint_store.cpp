#include "checkpoint/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "checkpoint/checkpoint_name.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;
using Kind = CheckpointName::Kind;

/// Entry of a folder of checkpoints.
struct Entry {
  Path path;
  CheckpointName name;
};

/// Whether there is a file, and no folder. False where the system cannot tell.
bool is_plain_file(const Path& path) {
  FileStatus status;
  return files().stat(path, status) == 0 && status.kind == FileKind::file;
}

/// Folders with names of checkpoints, whole or not, those of later steps first.
std::vector<Entry> entries_of(const Path& folder) {
  std::vector<Entry> entries;
  if (file_kind(folder) == FileKind::missing) return entries;
  for (const std::string& name : list_folder(folder)) {
    const auto parsed = parse_checkpoint_name(name);
    if (parsed && !is_plain_file(folder / name)) entries.push_back({folder / name, *parsed});
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.name.step != b.name.step ? a.name.step > b.name.step : a.name.kind < b.name.kind;
  });
  return entries;
}

/// Whether there is no MANIFEST, as after an interrupted removal. False where the system cannot tell, so that
/// reading the checkpoint reports the reason.
bool lacks_manifest(const Path& checkpoint) {
  FileStatus status;
  return files().stat(CheckpointFolder{checkpoint}.manifest(), status) != 0 && errno == ENOENT;
}

/// Removes MANIFEST before the rest, so that a part of a checkpoint never looks like a whole one.
void remove_checkpoint(const Entry& entry) {
  if (entry.name.kind != Kind::temporary) {
    remove_folder(CheckpointFolder{entry.path}.manifest());
    sync_folder(entry.path);
  }
  remove_folder(entry.path);
}

/// Removals, or renames, whose failure is not that of the caller's work.
class Removals {
 public:
  void attempt(const std::function<void()>& removal) {
    try {
      removal();
    } catch (const Error& error) {
      if (first_failure_.empty()) first_failure_ = error.what();
    }
  }
  const std::string& first_failure() const { return first_failure_; }

 private:
  std::string first_failure_;
};

/// Removes what killed writers left in `folder`.
void remove_leftovers(const Path& folder, Removals& removals) {
  for (const Entry& entry : entries_of(folder)) {
    if (entry.name.kind == Kind::temporary || lacks_manifest(entry.path)) {
      removals.attempt([&] { remove_checkpoint(entry); });
    }
  }
}

/// Removes checkpoints up to `step`, except the latest `keep`, that of `best_step`, and the latest one that
/// is `needed`, of which none is set aside.
void remove_earlier(const Path& folder, std::uint64_t step, int keep, std::uint64_t best_step,
                    const StepFilter& needed, Removals& removals) {
  std::set<std::uint64_t> kept;
  bool needs = static_cast<bool>(needed);
  for (const Entry& entry : entries_of(folder)) {
    const auto [kind, its_step] = entry.name;
    if (kind == Kind::temporary || its_step > step) continue;
    if (kind == Kind::aside) {
      removals.attempt([&] { remove_checkpoint(entry); });
      continue;
    }
    const bool is_needed = needs && needed(its_step);
    if (is_needed) needs = false;
    const bool is_wanted = kept.size() < static_cast<std::size_t>(keep) || its_step == best_step || is_needed;
    if (is_wanted && kept.insert(its_step).second) continue;
    removals.attempt([&] { remove_checkpoint(entry); });
  }
}

/// PATH.XXXXXXXX and `ending`, with random digits.
Path unused_name(const Path& path, const char* ending) {
  Path result;
  with_temporary_name(path, [&](const Path& name) {
    result = name;
    result.replace_extension(ending);
    return true;
  });
  return result;
}

/// Gives the whole checkpoint in `temporary` its name, `checkpoint`. One that has this name takes another
/// one, which list_checkpoints knows, so that there is a checkpoint of this step at every instant.
void move_into_place(const Path& temporary, const Path& checkpoint) {
  if (file_kind(checkpoint) != FileKind::missing) {
    const std::string random = temporary.stem().extension().string();  // ".XXXXXXXX"
    rename_folder(checkpoint, Path(checkpoint.string() + random + ".old"));
  }
  rename_folder(temporary, checkpoint);
}

}  // namespace

std::vector<Path> list_checkpoints(const Path& folder) {
  std::vector<Path> checkpoints;
  for (const Entry& entry : entries_of(folder)) {
    const bool listed = entry.name.kind == Kind::whole || entry.name.kind == Kind::replaced;
    if (listed && !lacks_manifest(entry.path)) checkpoints.push_back(entry.path);
  }
  return checkpoints;
}

std::optional<Checkpoint> newest_good_checkpoint(
    const Path& folder, const std::function<void(const Path&, const std::string&)>& rejected,
    const StepFilter& wanted) {
  for (const Path& checkpoint : list_checkpoints(folder)) {
    if (wanted && !wanted(parse_checkpoint_name(checkpoint.filename().string())->step)) continue;
    try {
      return read_checkpoint(checkpoint);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      rejected(checkpoint, error.what());
    }
  }
  return std::nullopt;
}

CheckpointStore::CheckpointStore(Path folder, int keep)
    : folder_(std::move(folder)), keep_(std::max(keep, 1)) {}

std::string CheckpointStore::write(const CheckpointContents& contents, std::uint64_t best_step,
                                   const StepFilter& needed) const {
  Removals removals;
  make_folder(folder_);
  removals.attempt([&] { remove_leftovers(folder_, removals); });
  const std::uint64_t step = contents.state.step;
  const std::string name = checkpoint_name(step);
  const Path temporary = make_temporary_folder(folder_ / ("." + name));
  try {
    write_checkpoint(temporary, contents);
    move_into_place(temporary, folder_ / name);
  } catch (...) {
    removals.attempt([&] { remove_folder(temporary); });
    throw;
  }
  removals.attempt([&] { remove_earlier(folder_, step, keep_, best_step, needed, removals); });
  return removals.first_failure();
}

void CheckpointStore::check_space(std::uint64_t bytes) const {
  std::uint64_t available = 0;
  if (files().free_space(folder_, available) != 0 || available / 2 >= bytes) return;
  throw Error(
      Category::resource,
      fmt::format("{}: no room for two checkpoints of {} MB: {} MB are free; free some, choose another "
                  "run directory, or keep nothing (run-dir none)",
                  folder_.string(), (bytes + 999999) / 1000000, available / 1000000));
}

CheckpointStore::SetAside CheckpointStore::set_aside_after(std::uint64_t step) const {
  SetAside result;
  Removals renames;
  renames.attempt([&] {
    for (const Path& checkpoint : list_checkpoints(folder_)) {
      const std::uint64_t its_step = parse_checkpoint_name(checkpoint.filename().string())->step;
      if (its_step <= step) continue;
      renames.attempt([&] {
        rename_folder(checkpoint, unused_name(folder_ / checkpoint_name(its_step), ".aside"));
        ++result.checkpoints;
      });
    }
  });
  result.failure = renames.first_failure();
  return result;
}

}  // namespace lockstep
