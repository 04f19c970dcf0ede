#include "run/checkpoint/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;
using Kind = CheckpointName::Kind;

/// Removes MANIFEST before the rest, so that a part of a checkpoint never looks like a whole one. Of a
/// symbolic link, removes the link: its target may be a checkpoint of another run.
void remove_checkpoint(const CheckpointEntry& entry) {
  if (files().unlink(entry.path) == 0) return;
  if (entry.name.kind != Kind::temporary) {
    remove_folder(CheckpointFolder{entry.path}.manifest());
    sync_folder(entry.path);
  }
  remove_folder(entry.path);
}

/// Removals and renames that may fail without failing the caller.
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
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
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
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
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

/// Makes room for a checkpoint of `step`: removes those before the newest good one of an earlier step, except
/// that of `best_step`, and the latest one that is `needed` unless the newest is. Returns whether there were
/// any. Does nothing if the newest good one is not known for certain.
bool make_room(const Path& folder, std::uint64_t step, std::uint64_t best_step, const StepFilter& needed,
               Removals& removals) {
  bool removed = false;
  removals.attempt([&] {
    const std::size_t before = checkpoint_entries(folder).size();
    // One of this step may lack a name that survives a crash, as its write may have failed just now.
    const auto newest = newest_good_checkpoint(
        folder, [](const Path&, const std::string&) {}, [&](std::uint64_t other) { return other < step; });
    if (!newest || newest->state.step == 0) return;
    sync_folder(folder);
    const std::uint64_t kept = newest->state.step;
    remove_earlier(folder, kept - 1, 0, best_step, needed && !needed(kept) ? needed : StepFilter(), removals);
    removed = checkpoint_entries(folder).size() < before;
  });
  return removed;
}

/// Bytes of checkpoints that check_checkpoint_space counts. A link's target may be a checkpoint of another
/// run.
std::uint64_t reusable_bytes(const Path& folder, std::uint64_t step, std::uint64_t best_step) {
  std::uint64_t bytes = 0;
  std::vector<std::string> folders;
  if (file_kind(folder) == FileKind::folder) list_folder(folder, &folders);
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
    const auto [kind, its_step] = entry.name;
    const bool stays = its_step > step || (its_step == best_step && its_step != step);
    const bool is_leftover = kind == Kind::temporary || lacks_manifest(entry.path);
    if (stays && !is_leftover) continue;
    if (!std::ranges::binary_search(folders, entry.path.filename().string())) continue;
    for (const Path& file : CheckpointFolder{entry.path}.files()) {
      FileStatus status;
      if (files().stat(file, status) == 0) bytes += status.size;
    }
  }
  return bytes;
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

/// Renames the whole checkpoint `temporary` to `checkpoint`. A checkpoint of that name is first renamed to
/// another name that list_checkpoints knows, so that there is a checkpoint of this step at every instant.
void move_into_place(const Path& temporary, const Path& checkpoint) {
  if (file_kind(checkpoint) != FileKind::missing) {
    const std::string random = temporary.stem().extension().string();  // ".XXXXXXXX"
    rename_folder(checkpoint, Path(checkpoint.string() + random + CheckpointName::replaced_ending));
  }
  rename_folder(temporary, checkpoint);
}

/// Writes a new checkpoint, or leaves nothing of it.
void write_new(const Path& folder, const CheckpointContents& contents, Removals& removals) {
  const std::string name = checkpoint_name(contents.state.step);
  const Path temporary = make_temporary_folder(folder / ("." + name));
  try {
    write_checkpoint(temporary, contents);
    move_into_place(temporary, folder / name);
  } catch (...) {
    removals.attempt([&] { remove_folder(temporary); });
    throw;
  }
}

}  // namespace

std::optional<Checkpoint> newest_good_checkpoint(
    const Path& folder, const std::function<void(const Path&, const std::string&)>& rejected,
    const StepFilter& wanted) {
  for (const Path& checkpoint : list_checkpoints(folder)) {
    if (wanted && !wanted(parse_checkpoint_name(checkpoint.filename().string())->step)) continue;
    try {
      return read_checkpoint(checkpoint);
    } catch (const NewerFormat&) {
      throw;
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
  try {
    write_new(folder_, contents, removals);
  } catch (const FileError& error) {
    if (!error.lacks_room() || !make_room(folder_, step, best_step, needed, removals)) throw;
    write_new(folder_, contents, removals);
  }
  removals.attempt([&] { remove_earlier(folder_, step, keep_, best_step, needed, removals); });
  return removals.first_failure();
}

void check_checkpoint_space(const Path& folder, std::uint64_t bytes, std::uint64_t step,
                            std::uint64_t best_step) {
  Path existing = folder;
  while (file_kind(existing) == FileKind::missing && existing != folder_of(existing)) {
    existing = folder_of(existing);
  }
  std::uint64_t available = 0;
  if (files().free_space(existing, available) != 0 || available / 2 >= bytes) return;
  const std::uint64_t reusable = reusable_bytes(folder, step, best_step);
  available += reusable;
  if (available / 2 >= bytes) return;
  throw Error(
      Category::resource,
      fmt::format("{}: no room for two checkpoints of {} MB: {} MB are free{}; free some, choose another "
                  "run directory, or keep nothing (--run-dir none)",
                  folder.string(), (bytes + 999999) / 1000000, available / 1000000,
                  reusable > 0 ? " or taken by the checkpoint to continue from and by old ones" : ""));
}

CheckpointStore::SetAside CheckpointStore::set_aside_after(std::uint64_t step) const {
  SetAside result;
  Removals renames;
  renames.attempt([&] {
    for (const Path& checkpoint : list_checkpoints(folder_)) {
      const std::uint64_t its_step = parse_checkpoint_name(checkpoint.filename().string())->step;
      if (its_step <= step) continue;
      renames.attempt([&] {
        rename_folder(checkpoint,
                      unused_name(folder_ / checkpoint_name(its_step), CheckpointName::aside_ending));
        ++result.checkpoints;
      });
    }
  });
  result.failure = renames.first_failure();
  return result;
}

}  // namespace lockstep
