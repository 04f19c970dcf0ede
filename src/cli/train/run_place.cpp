#include "cli/train/run_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <span>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_store.h"
#include "cli/find_checkpoints.h"
#include "cli/train/restarts.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/message.h"
#include "core/options/internal_variables.h"
#include "lockstep/error.h"
#include "report/run_directory.h"

namespace lockstep {
namespace {

constexpr const char* parent_folder = "runs";

/// Ranks whose launcher was killed end about 1.5 s later.
constexpr double seconds_for_lock = 5.0;
/// A file server keeps the lock of a host that died until its lease ends: 90 s, for NFS of Linux.
constexpr double seconds_for_lock_of_restart = 120.0;

/// Name of a network or data set without what would not do in the name of a folder: "nets/mine.json" is
/// "mine".
std::string short_name(const std::string& name) {
  std::string text = std::filesystem::path(name).stem().string();
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '-');
  return text;
}

std::string run_name(const TrainOptions& options) {
  return short_name(options.model.name) + "-" + short_name(options.data.name);
}

std::filesystem::path newest_checkpoint(const RunDirectory& directory) {
  const auto rejected = [](const std::filesystem::path& /*path*/, const std::string& reason) {
    print_warning(reason + "; it is not used");
  };
  const auto checkpoint = newest_good_checkpoint(directory.checkpoints(), rejected);
  return checkpoint ? checkpoint->folder : std::filesystem::path();
}

bool chooses_directory(const TrainOptions& options) {
  return options.output.run_directory != OutputOptions().run_directory;
}

/// Place of a new run. A folder without a name is created when the options are known to be good.
RunPlace new_run(const TrainOptions& options) {
  if (options.output.keeps_nothing()) return {};
  if (!chooses_directory(options)) {
    return {.directory = new_run_folder(parent_folder, run_name(options)), .checkpoint = {}};
  }
  const std::filesystem::path directory = options.output.run_directory;
  const RunDirectory run{directory};
  if (file_kind(run.metrics()) == FileKind::missing && !list_checkpoints(run.checkpoints()).empty()) {
    throw Error(Category::usage,
                fmt::format("{0} already holds checkpoints, which a new run would mix with its own; continue "
                            "from them with resume {0}, or choose another directory",
                            directory.string()),
                "run-dir");
  }
  return {.directory = directory, .checkpoint = {}};
}

RunPlace newest_run(const TrainOptions& options, RunLock& lock) {
  std::filesystem::path directory = options.output.run_directory;
  if (!chooses_directory(options)) directory = latest_run_folder(parent_folder, run_name(options));
  if (directory.empty() || file_kind(directory) == FileKind::missing) return new_run(options);
  lock.take(directory);
  const std::filesystem::path checkpoint = newest_checkpoint({directory});
  const std::filesystem::path folder = RunDirectory{directory}.checkpoints();
  if (checkpoint.empty() && !list_checkpoints(folder).empty()) {
    throw Error(Category::data,
                fmt::format("{}: none of the checkpoints is good; remove them to begin the run again, or "
                            "choose another run directory",
                            folder.string()),
                "resume");
  }
  return {.directory = directory, .checkpoint = checkpoint, .continues = true};
}

RunPlace named_run(const TrainOptions& options, RunLock& lock) {
  const std::filesystem::path path = run_or_checkpoint(options.resume);
  const bool names_checkpoint = is_checkpoint(path);
  const std::filesystem::path source = names_checkpoint ? run_of(path) : path;
  const bool chooses = chooses_directory(options);
  if (source.empty() && !chooses) {
    throw Error(Category::usage,
                fmt::format("{} is not in the folder 'checkpoints' of a run directory: name one for the "
                            "run that goes on from it (run-dir)",
                            path.string()),
                "resume");
  }
  RunPlace place{.directory = source, .checkpoint = {}, .continues = true};
  if (chooses && short_form(options.output.run_directory) != source) place = new_run(options);
  if (place.continues && file_kind(source) == FileKind::folder) lock.take(source);
  place.checkpoint = names_checkpoint ? path : newest_checkpoint({path});
  if (place.checkpoint.empty()) {
    const bool has_begun = file_kind(RunDirectory{path}.metrics()) != FileKind::missing;
    throw Error(
        Category::data,
        has_begun && list_checkpoints(RunDirectory{path}.checkpoints()).empty()
            ? fmt::format("{0}: the run has no checkpoint yet; begin it again there with its options, resume "
                          "auto and run-dir {0}",
                          path.string())
            : fmt::format("{}: neither a checkpoint nor the directory of a run that has one", path.string()),
        "resume");
  }
  return place;
}

/// Throws Error(usage) for options about checkpoints where nothing is kept.
void check_place(const TrainOptions& options) {
  if (!options.output.keeps_nothing()) return;
  std::string idle = options.resume == "auto" ? "resume" : "";
  for (const OptionText& text : texts_of(options.checkpoints)) {
    if (!text.is_default()) idle = text.field.name;
  }
  if (options.training.on_nan == OnNan::rollback) {
    throw Error(Category::usage, "rollback needs checkpoints, but nothing is kept (run-dir none)", "on-nan");
  }
  if (!idle.empty()) throw Error(Category::usage, "has no effect where nothing is kept (run-dir none)", idle);
}

RunPlace find(const TrainOptions& options, RunLock& lock) {
  check_place(options);
  if (options.resume.empty()) return new_run(options);
  return options.resume == "auto" ? newest_run(options, lock) : named_run(options, lock);
}

}  // namespace

void RunLock::take(const std::filesystem::path& directory) {
  if (file_) return;
  file_.emplace(RunDirectory{directory}.lock(), fmt::format("process {} on host {}", getpid(), host_),
                seconds_before_this_start() > 0.0 ? seconds_for_lock_of_restart : seconds_for_lock);
}

RunPlace find_run_place(const World& world, const TrainOptions& options, RunLock& lock) {
  RunPlace place;
  world.agree([&] {
    if (world.rank() == 0) place = find(options, lock);
  });
  const auto from_first = [&](const std::string& own) {
    const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(own)));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  place.directory = from_first(place.directory.string());
  place.checkpoint = from_first(place.checkpoint.string());
  place.continues = !from_first(place.continues ? "yes" : "").empty();
  return place;
}

void tell_launcher(const RunPlace& place) {
  if (std::getenv(tell_run_directory_variable) == nullptr) return;
  print_message(std::string(run_directory_line) + std::filesystem::absolute(place.directory).string());
}

}  // namespace lockstep
