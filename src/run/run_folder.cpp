#include "run/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/text/as_text.h"
#include "core/text/command_line.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"
#include "run/record_line.h"
#include "watch/report.h"

namespace lockstep {
namespace {

constexpr std::string_view not_finite_prefix = "not-finite-step-";

/// Parses a line; nullopt if it is damaged.
std::optional<RecordLine> read_line(std::string_view line) {
  try {
    return RecordLine(line);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Whether `name` is PREFIX, digits and ".json".
bool is_numbered(std::string_view name, std::string_view prefix) {
  const std::string_view number = middle_of(name, prefix, ".json");
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The N of each entry NAME-N in `parent`, in descending order.
std::vector<int> numbers(const std::filesystem::path& parent, const std::string& name) {
  std::vector<int> result;
  for (const std::string& entry : list_folder(parent)) {
    if (!entry.starts_with(name + "-")) continue;
    const std::optional<int> number = whole_number<int>(entry.substr(name.size() + 1));
    if (number && *number > 0) result.push_back(*number);
  }
  std::ranges::sort(result, std::greater());
  return result;
}

}  // namespace

std::filesystem::path RunFolder::not_finite(std::uint64_t step) const {
  return path_ / fmt::format("{}{:08}.json", not_finite_prefix, step);
}

std::size_t RunFolder::not_finite_files() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      list_folder(path_), [](const std::string& name) { return is_numbered(name, not_finite_prefix); }));
}

bool RunFolder::knows(const std::filesystem::path& file) const {
  if (std::ranges::any_of(names.all(), [&](const char* own) { return path_ / own == file; })) return true;
  const std::filesystem::path folder = file.parent_path();
  const std::string name = file.filename().string();
  if (folder == path_)
    return is_numbered(name, not_finite_prefix) || is_numbered(name, watchdog_report_prefix);
  if (folder == checkpoints()) return parse_checkpoint_name(name).has_value();
  const auto parts = CheckpointFolder{folder}.files();
  return folder.parent_path() == checkpoints() && knows(folder) &&
         std::ranges::find(parts, file) != parts.end();
}

RunSurvey RunFolder::survey() const {
  RunSurvey result{.exists = file_kind(path_, Category::resource) == FileKind::folder};
  if (!result.exists) return result;
  result.used = file_kind(metrics(), Category::resource) != FileKind::missing;
  result.checkpoints = list_checkpoints(checkpoints());
  return result;
}

void RunFolder::check_unused(bool begins_again) const {
  const RunSurvey found = survey();
  const bool may_begin = !found.used || (begins_again && file_kind(final_model()) == FileKind::missing);
  if (may_begin && found.checkpoints.empty()) return check_manifests(checkpoints());
  const std::string resume = shell_line({"--resume", path_.string()});
  const std::string advice = found.checkpoints.empty()
                                 ? "it has no checkpoint yet: begin it again with " +
                                       shell_line({"--run-dir", path_.string(), "--resume", "auto"})
                                 : "continue it with " + resume;
  throw Error(Category::usage,
              found.used
                  ? fmt::format("{} already holds a run (metrics.jsonl); {}, or choose another directory",
                                path_.string(), advice)
                  : fmt::format("{} already holds checkpoints, which a new run would mix with its own; "
                                "continue from them with {}, or choose another directory",
                                path_.string(), resume),
              "run-dir");
}

void RunFolder::remove_record() const {
  const RunSurvey found = survey();
  if (found.used && found.checkpoints.empty()) remove_file(metrics());
}

void RunFolder::lock(const std::string& holder, double seconds, Category in_use) {
  if (lock_) return;
  descriptor_ = open_folder(path_);
  lock_ = std::make_unique<LockFile>(lock_file(), holder, seconds, in_use);
}

void RunFolder::check_place() const {
  FileStatus own, present;
  if (descriptor_.get() < 0 || files().fstat(descriptor_.get(), own) != 0) return;
  const bool is_there = files().stat(path_, present) == 0;
  if (!is_there && errno != ENOENT && errno != ENOTDIR) return;  // the next write reports the reason
  if (is_there && own.is_same_file(present)) return lock_->renew();
  refuse_file(path_,
              !is_there && own.links == 0
                  ? "the run directory was removed during the run, with its checkpoints; begin it again"
                  : "the run directory was moved or replaced during the run; resume from its new place",
              Category::resource);
}

void RunFolder::create(const std::string& options_text, const std::string& environment_text,
                       bool continues) const {
  if (!continues) check_unused();
  make_folder(checkpoints());
  for (const auto& folder : {path_, checkpoints()}) {
    remove_leftovers(folder, [&](std::string_view name) { return knows(folder / name); });
  }
  for (const auto& file : {final_model(), best(), report()}) {
    const AtomicFile probe(file);  // fails now rather than at the end of the run
  }
  write_text_file(options(), options_text);
  write_text_file(environment(), environment_text);
}

std::vector<std::string> RunFolder::cut_record(std::uint64_t step, int epoch, std::uint64_t passed) const {
  const std::string file = metrics().string();
  if (file_kind(file) == FileKind::missing) {
    if (step == 0) return {};
    return {fmt::format("{}: missing, so the record begins after step {}", file, step)};
  }
  const std::vector<std::byte> bytes = read_file(file);
  const std::string_view text = as_text(bytes);
  std::string kept;
  std::size_t damaged = 0, damaged_at_end = 0;
  std::uint64_t last_event = 0, last_step_event = 0, interval = 1;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    const std::string_view line = text.substr(begin, end - begin);
    const std::optional<RecordLine> event = read_line(line);
    if (!event) {
      ++damaged_at_end;  // perhaps of later steps, which are removed anyway
      continue;
    }
    const std::uint64_t last = event->is_not_finite() ? std::max(step, passed) : step;
    // Later lines may still belong to the run: lines are not in order, because a checkpoint is written while
    // later steps run.
    if (!event->is_within(last, epoch)) {
      damaged_at_end = 0;
      continue;
    }
    damaged += std::exchange(damaged_at_end, 0);
    last_event = std::max(last_event, event->step());
    if (event->is_step()) {
      interval = event->step() - std::min(event->step() - 1, std::exchange(last_step_event, event->step()));
    }
    kept.append(line) += '\n';
  }
  if (kept.size() < text.size()) write_text_file(file, kept);
  std::vector<std::string> remarks;
  if (damaged > 0) remarks.push_back(fmt::format("{}: damaged lines that were left out: {}", file, damaged));
  if (last_event + interval <= step) {
    remarks.push_back(
        fmt::format("{}: ends at step {}, but the checkpoint is of step {}: the record lacks the steps "
                    "between them",
                    file, last_event, step));
  }
  return remarks;
}

std::filesystem::path new_run_folder(const std::filesystem::path& parent, const std::string& name) {
  make_folder(parent);
  const std::vector<int> used = numbers(parent, name);
  for (int number = used.empty() ? 1 : used.front() + 1;; ++number) {
    std::filesystem::path folder = parent / fmt::format("{}-{}", name, number);
    if (files().mkdir(folder) == 0) {
      sync_folder(parent);  // otherwise a crash of the machine would lose the folder with its checkpoints
      return folder;
    }
    if (errno != EEXIST) {  // EEXIST: taken by another run
      refuse_file(folder, std::generic_category().message(errno), Category::resource);
    }
  }
}

std::filesystem::path latest_run_folder(const std::filesystem::path& parent, const std::string& name) {
  if (file_kind(parent) != FileKind::folder) return {};
  std::filesystem::path latest;
  for (const int number : numbers(parent, name)) {
    std::filesystem::path folder = parent / fmt::format("{}-{}", name, number);
    if (!list_checkpoints(RunFolder(folder).checkpoints()).empty()) return folder;
    if (latest.empty()) latest = folder;
  }
  return latest;
}

}  // namespace lockstep
