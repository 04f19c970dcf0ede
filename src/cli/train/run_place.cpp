#include "cli/train/run_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <utility>

#include "cli/model/find_checkpoints.h"
#include "cli/model/saved_model.h"
#include "cli/options/flag.h"
#include "comm/world/gather.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/process/launcher_report.h"
#include "core/text/command_line.h"
#include "core/text/message.h"
#include "data/sets/images/image_parts.h"
#include "data/sets/images/packed_images.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"
#include "run/checkpoint/checkpoint_store.h"

namespace lockstep {
namespace {

constexpr const char* parent_folder = "runs";

/// Longest wait for a lock. Ranks whose launcher was killed end about 1.5 s later.
constexpr double seconds_for_lock = 5.0;
/// Longest wait of a restart. A file server keeps the lock of a dead host until its lease ends: 90 s for
/// Linux NFS.
constexpr double seconds_for_lock_of_restart = 120.0;

/// Name of a network or data set as part of a folder's name: "mine" for "nets/mine.json".
std::string short_name(const std::string& name) {
  std::string text = std::filesystem::path(name).stem().string();
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '-');
  return text;
}

std::string run_name(const TrainOptions& options) {
  return short_name(options.model.name) + "-" + short_name(options.data.name);
}

std::filesystem::path newest_checkpoint(const RunFolder& folder) {
  const auto rejected = [](const std::filesystem::path& /*path*/, const std::string& reason) {
    print_warning(reason + "; it is not used");
  };
  const auto checkpoint = newest_good_checkpoint(folder.checkpoints(), rejected);
  if (checkpoint) return checkpoint->folder;
  check_manifests(folder.checkpoints());
  return {};
}

/// Whether the run has a best model with the parameters that were saved.
bool has_good_best(const RunFolder& folder) {
  try {
    if (file_kind(folder.best()) != FileKind::file) return false;
    open_model(folder.best(), false);
    return true;
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void fail_without_good_checkpoint(const RunFolder& folder) {
  std::string advice;
  if (has_good_best(folder)) {
    advice = fmt::format("; the parameters of its best epoch are good: {} begins with them",
                         shell_line({"--init-from", folder.best().string()}));
  }
  throw Error(Category::data,
              fmt::format("{}: none of the checkpoints is good; remove them to begin the run again, or "
                          "choose another run directory{}",
                          folder.checkpoints().string(), advice),
              "resume");
}

bool chooses_folder(const TrainOptions& options) {
  return options.output.run_directory != OutputOptions().run_directory;
}

/// Throws Error(usage) for a path that is too long for a folder.
void check_length(const std::filesystem::path& path) {
  FileStatus status;
  if (files().stat(path, status) == 0 || errno != ENAMETOOLONG) return;
  throw Error(Category::usage, fmt::format("{}: the name is too long: choose another", path.string()),
              "run-dir");
}

/// Throws Error(usage) if `path` is a checkpoint of a run or the run's folder of checkpoints: that run would
/// remove files of the new run.
void check_outside_runs(const std::filesystem::path& path) {
  const std::filesystem::path place = short_form(path);
  const std::filesystem::path run = is_checkpoint(place) ? run_of(place) : run_or_checkpoint(place);
  if (run == place || run.empty()) return;
  throw Error(Category::usage,
              fmt::format("{} belongs to the run {}: name that directory, or choose another", place.string(),
                          run.string()),
              "run-dir");
}

/// Whether `path` lies in a folder of `outer` whose name begins with a dot; such a folder is not a class.
bool is_hidden(const std::filesystem::path& path, const std::filesystem::path& outer) {
  const auto whole = [](const std::filesystem::path& any) {
    return std::filesystem::absolute(any).lexically_normal();
  };
  const std::filesystem::path inner = whole(path).lexically_relative(whole(outer));
  const std::string first = inner.empty() ? "" : inner.begin()->string();
  return first.size() > 1 && first[0] == '.' && first != "..";
}

/// Throws Error(usage) for a run directory in a folder of classes, where it would count as a class.
void check_outside_classes(const std::filesystem::path& run, const DatasetOptions& data) {
  if (data.name != "images" || data.task != Task::classification || data.directory.empty()) return;
  if (!data.labels.empty()) return;  // with a table of labels, no folder is a class
  if (has_packed_images(data.directory)) return;
  std::vector<std::filesystem::path> folders;
  for (const Part part : {Part::train, Part::validation, Part::test}) {
    std::filesystem::path folder = find_image_part(data.directory, part);
    if (!folder.empty()) folders.push_back(std::move(folder));
  }
  if (folders.empty()) folders.emplace_back(data.directory);
  for (const std::filesystem::path& folder : folders) {
    if (!lies_in(run, folder) || is_hidden(run, folder)) continue;
    throw Error(Category::usage,
                fmt::format("{} lies in the folder of the classes, {}: choose another place, or "
                            "--run-dir none",
                            run.string(), folder.string()),
                "run-dir");
  }
}

RunPlace new_run(const TrainOptions& options, const std::string& host) {
  if (options.output.keeps_nothing()) return {};
  if (!chooses_folder(options)) {
    return {.folder = RunFolder(std::filesystem::path(parent_folder) / run_name(options)), .numbered = true};
  }
  RunPlace place{.folder = RunFolder(options.output.run_directory)};
  if (place.folder.survey().exists) place.lock(host, options.max_time);
  // A start from another run's checkpoint may be repeated if it failed before it wrote a checkpoint.
  place.folder.check_unused(!options.resume.empty());
  return place;
}

RunPlace newest_run(const TrainOptions& options, const std::string& host) {
  const std::filesystem::path path = run_directory_of(options);
  if (path.empty()) return new_run(options, host);
  make_folder(path);  // of several concurrent starts, one locks the folder; the others find its run
  RunPlace place{.folder = RunFolder(path), .continues = true};
  place.lock(host, options.max_time);
  place.checkpoint = newest_checkpoint(place.folder);
  if (place.checkpoint.empty() && !place.folder.survey().checkpoints.empty())
    fail_without_good_checkpoint(place.folder);
  return place;
}

RunPlace named_run(const TrainOptions& options, const std::string& host) {
  const std::filesystem::path path = run_or_checkpoint(options.resume);
  const bool names_checkpoint = is_checkpoint(path);
  const std::filesystem::path source = names_checkpoint ? run_of(path) : path;
  const bool chooses = chooses_folder(options);
  if (source.empty() && !chooses) {
    throw Error(Category::usage,
                fmt::format("{} is not in the folder 'checkpoints' of a run directory: name the directory of "
                            "the run that continues from it with {}",
                            path.string(), flag_of(&OutputOptions::run_directory)),
                "resume");
  }
  const bool moves = chooses && short_form(options.output.run_directory) != source;
  RunPlace place = moves ? new_run(options, host) : RunPlace{.folder = RunFolder(source), .continues = true};
  const RunFolder named(path);
  if (place.continues && place.folder.survey().exists) place.lock(host, options.max_time);
  place.checkpoint = names_checkpoint ? path : newest_checkpoint(named);
  if (place.checkpoint.empty()) {
    const RunSurvey found = named.survey();
    if (!found.checkpoints.empty()) fail_without_good_checkpoint(named);
    throw Error(
        Category::data,
        found.used
            ? fmt::format(
                  "{}: the run has no checkpoint yet; begin it again with its command, which is in {}",
                  path.string(), named.environment().string())
            : fmt::format("{}: neither a checkpoint nor the directory of a run that has one", path.string()),
        "resume");
  }
  return place;
}

/// Throws Error(usage) for options about files of the run if nothing is kept.
void check_place(const TrainOptions& options) {
  if (!options.output.keeps_nothing()) return;
  const std::string because = fmt::format(" ({} none)", flag_of(&OutputOptions::run_directory));
  std::string idle = options.resume == "auto" ? "resume" : "";
  if (options.output.tensorboard) idle = "tensorboard";
  // The checkpoint options of a named run may be its recorded ones.
  if (options.resume.empty() || options.resume == "auto") {
    for (const OptionText& text : texts_of(options.checkpoints)) {
      if (!text.is_default()) idle = text.field.name;
    }
  }
  if (options.training.on_nan == OnNan::rollback) {
    throw Error(Category::usage, "rollback needs checkpoints, but nothing is kept" + because, "on-nan");
  }
  if (!idle.empty()) throw Error(Category::usage, "has no effect if nothing is kept" + because, idle);
}

RunPlace find(const TrainOptions& options, const std::string& host) {
  check_place(options);
  const bool names_run = !options.resume.empty() && options.resume != "auto";
  if (chooses_folder(options) && !options.output.keeps_nothing()) {
    check_length(options.output.run_directory);
    check_outside_runs(options.output.run_directory);
    check_outside_classes(options.output.run_directory, options.data);
  } else if (!options.output.keeps_nothing() && !names_run) {
    check_outside_classes(parent_folder, options.data);
  }
  if (names_run) return named_run(options, host);
  return options.resume.empty() ? new_run(options, host) : newest_run(options, host);
}

}  // namespace

void RunPlace::lock(const std::string& host, Duration limit) {
  const double before = seconds_before_this_start();
  const double full = before > 0.0 ? seconds_for_lock_of_restart : seconds_for_lock;
  double seconds = full;
  if (limit.seconds > 0.0) seconds = std::clamp(std::floor(limit.seconds - before), 0.0, full);
  // A file server may still hold the lock of a dead host, so a later start can continue the run.
  const bool can_resume = before > 0.0 && seconds < full;
  folder.lock(fmt::format("process {} on host {}", getpid(), host), seconds,
              can_resume ? Category::stopped : Category::resource);
}

bool RunPlace::continues_its_newest() const {
  const auto name = parse_checkpoint_name(checkpoint.filename().string());
  return continues && name && name->kind != CheckpointName::Kind::aside;
}

RunPlace find_run_place(const World& world, const TrainOptions& options) {
  RunPlace place;
  world.agree([&] {
    if (world.rank() == 0) place = find(options, world.host());
  });
  const std::string path = broadcast(world, place.folder.path().string());
  if (world.rank() != 0) place.folder = RunFolder(path);
  place.checkpoint = broadcast(world, place.checkpoint.string());
  place.continues = !broadcast(world, place.continues ? "yes" : "").empty();
  place.numbered = !broadcast(world, place.numbered ? "yes" : "").empty();
  return place;
}

bool choose_newest_again(const World& world, const TrainOptions& options, RunPlace& place) {
  if (!place.has_source()) return false;
  std::string newest;
  world.agree([&] {
    if (world.rank() != 0 || !lacks_manifest(place.checkpoint)) return;
    const std::filesystem::path named = run_or_checkpoint(options.resume);
    if (named != place.checkpoint) newest = newest_checkpoint(RunFolder(named)).string();
  });
  newest = broadcast(world, newest);
  if (newest.empty()) return false;
  place.checkpoint = newest;
  return true;
}

void create_numbered_folder(const World& world, RunPlace& place) {
  if (!place.numbered) return;
  std::string path;
  world.agree([&] {
    if (world.rank() != 0) return;
    path = new_run_folder(place.folder.path().parent_path(), place.folder.path().filename().string());
  });
  place.folder = RunFolder(broadcast(world, path));
}

std::filesystem::path run_directory_of(const TrainOptions& options) {
  if (chooses_folder(options)) return options.output.run_directory;
  if (options.resume.empty()) return {};
  if (options.resume == "auto") return latest_run_folder(parent_folder, run_name(options));
  return find_run(options.resume);
}

void report_start(const RunPlace& place, std::uint64_t step) {
  LauncherReport report{.step = step, .checkpoint = place.continues_its_newest() ? step : 0};
  if (place.keeps()) report.run_directory = std::filesystem::absolute(place.folder.path()).string();
  report_to_launcher(report);
}

}  // namespace lockstep
