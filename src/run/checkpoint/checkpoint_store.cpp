#include "run/checkpoint/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;
using Kind = CheckpointName::Kind;

/// Removes MANIFEST first, so that a partly removed checkpoint never looks whole. If the entry is a symbolic
/// link, removes only the link: its target may be a checkpoint of another run.
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
    } catch (...) {
      if (first_failure_.empty()) first_failure_ = as_error(std::current_exception()).what();
    }
  }
  const std::string& first_failure() const { return first_failure_; }

 private:
  std::string first_failure_;
};

/// Removes incomplete checkpoints that killed writers left in `folder`.
void remove_leftovers(const Path& folder, Removals& removals) {
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
    if (entry.name.kind == Kind::temporary || lacks_manifest(entry.path)) {
      removals.attempt([&] { remove_checkpoint(entry); });
    }
  }
}

/// Checkpoints up to `step` that are not to be kept, later steps first: all that are set aside, and all
/// others except the latest `keep`, the one of `best_step`, and the latest one that is `needed`.
std::vector<CheckpointEntry> superfluous(const Path& folder, std::uint64_t step, int keep,
                                         std::uint64_t best_step, const StepFilter& needed) {
  std::vector<CheckpointEntry> result;
  std::set<std::uint64_t> kept;
  bool needs = static_cast<bool>(needed);
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
    const auto [kind, its_step] = entry.name;
    if (kind == Kind::temporary || its_step > step) continue;
    if (kind == Kind::aside) {
      result.push_back(entry);
      continue;
    }
    const bool is_needed = needs && needed(its_step);
    if (is_needed) needs = false;
    const bool is_wanted = kept.size() < static_cast<std::size_t>(keep) || its_step == best_step || is_needed;
    if (is_wanted && kept.insert(its_step).second) continue;
    result.push_back(entry);
  }
  return result;
}

/// Same as newest_good_checkpoint, but returns the result of `load` for the checkpoint's path.
template <class Load>
auto newest_good(const Path& folder, const Load& load,
                 const std::function<void(const Path&, const std::string&)>& rejected,
                 const StepFilter& wanted) -> std::optional<decltype(load(folder))> {
  std::set<Path> damaged;
  for (bool again = true; again;) {
    again = false;
    for (const Path& checkpoint : list_checkpoints(folder)) {
      if (damaged.contains(checkpoint)) continue;
      if (wanted && !wanted(parse_checkpoint_name(checkpoint.filename().string())->step)) continue;
      try {
        return load(checkpoint);
      } catch (const NewerFormat&) {
        throw;
      } catch (const Error& error) {
        if (error.category() != Category::data) throw;
        again = lacks_manifest(checkpoint);  // another run removed it after writing a newer one
        if (again) break;
        damaged.insert(checkpoint);
        rejected(checkpoint, error.what());
      }
    }
  }
  return std::nullopt;
}

/// Makes room for `contents`: removes checkpoints older than the newest good one of an earlier step, oldest
/// first, until enough bytes are free. Keeps the one of `best_step` and, unless the newest good one is
/// `needed`, the latest that is. Returns whether any was removed. Does nothing if the newest good one cannot
/// be determined.
bool make_room(const Path& folder, const CheckpointContents& contents, std::uint64_t best_step,
               const StepFilter& needed, Removals& removals) {
  const std::uint64_t step = contents.state.step;
  std::uint64_t bytes = 0;
  for (const NamedTensor& tensor : contents.model) bytes += tensor.bytes().size();
  for (const NamedTensor& tensor : contents.optimizer) bytes += tensor.bytes().size();
  bool removed = false;
  removals.attempt([&] {
    // Checked first because reading a checkpoint is slow, and a stopping run retries once a second.
    if (step == 0 || superfluous(folder, step - 1, 1, best_step, needed).empty()) return;
    // A checkpoint of this step does not count: its write may have just failed, so its name may not survive a
    // crash.
    const auto newest = newest_good(
        folder, check_checkpoint, [](const Path&, const std::string&) {},
        [&](std::uint64_t other) { return other < step; });
    if (!newest || newest->step == 0) return;
    sync_folder(folder);
    const std::uint64_t kept = newest->step;
    const auto earlier =
        superfluous(folder, kept - 1, 0, best_step, needed && !needed(kept) ? needed : StepFilter());
    for (auto entry = earlier.rbegin(); entry != earlier.rend(); ++entry) {
      removals.attempt([&] {
        remove_checkpoint(*entry);
        removed = true;
      });
      std::uint64_t available = 0;
      if (removed && (files().free_space(folder, available) != 0 || available >= bytes)) return;
    }
  });
  return removed;
}

/// Bytes in `folder` that are not free but that check_checkpoint_space counts as room.
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

/// Renames the whole checkpoint `temporary` to `checkpoint`. An existing checkpoint of that name is first
/// renamed to another name that list_checkpoints finds, so that a checkpoint of this step exists at every
/// moment.
void move_into_place(const Path& temporary, const Path& checkpoint) {
  if (file_kind(checkpoint) != FileKind::missing) {
    const std::string random = temporary.stem().extension().string();  // ".XXXXXXXX"
    rename_folder(checkpoint, Path(checkpoint.string() + random + CheckpointName::replaced_ending));
  }
  rename_folder(temporary, checkpoint);
}

/// Writes a new checkpoint; on failure, removes what was written.
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
  return newest_good(folder, read_checkpoint, rejected, wanted);
}

CheckpointStore::CheckpointStore(Path folder, int keep)
    : folder_(std::move(folder)), keep_(std::max(keep, 1)) {}

std::string CheckpointStore::write(const CheckpointContents& contents, std::uint64_t best_step,
                                   const StepFilter& needed) const {
  Removals removals;
  make_folder(folder_);
  removals.attempt([&] { remove_leftovers(folder_, removals); });
  for (bool written = false; !written;) {
    try {
      write_new(folder_, contents, removals);
      written = true;
    } catch (const FileError& error) {
      if (!error.lacks_room() || !make_room(folder_, contents, best_step, needed, removals)) throw;
    }
  }
  removals.attempt([&] {
    for (const auto& entry : superfluous(folder_, contents.state.step, keep_, best_step, needed)) {
      removals.attempt([&] { remove_checkpoint(entry); });
    }
  });
  return removals.first_failure();
}

void check_checkpoint_space(const Path& folder, std::uint64_t bytes, std::uint64_t step,
                            std::uint64_t best_step) {
  Path existing = folder, missing;
  while (file_kind(existing) == FileKind::missing && existing != folder_of(existing)) {
    missing = existing;
    existing = folder_of(existing);
  }
  std::uint64_t available = 0;
  if (files().free_space(existing, available) != 0 || available / 2 >= bytes) return;
  const std::uint64_t reusable = reusable_bytes(folder, step, best_step);
  available += reusable;
  if (available / 2 >= bytes) return;
  if (!missing.empty()) {  // perhaps it cannot be created for another reason, as in /proc
    const bool made = files().mkdir(missing) == 0;
    if (!made && errno != ENOSPC && errno != EDQUOT && errno != EEXIST) {
      fail_file(missing, "create the folder");
    }
    if (made) files().rmdir(missing);
  }
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
                      random_name(folder_ / checkpoint_name(its_step), CheckpointName::aside_ending));
        ++result.checkpoints;
      });
    }
  });
  result.failure = renames.first_failure();
  return result;
}

}  // namespace lockstep
