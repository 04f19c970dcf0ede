#include "cli/train/best_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/model/find_checkpoints.h"
#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/model_file.h"
#include "run/checkpoint/checkpoint.h"
#include "run/checkpoint/checkpoint_folder.h"
#include "train/run_description.h"

namespace lockstep {
namespace {

/// Whether `model` has these results. The epoch alone does not identify the model, as the run may have
/// continued differently from an earlier checkpoint.
bool has_results(const ModelFile& model, const Facts& results) {
  return std::ranges::all_of(results, [&](const auto& entry) {
    const auto found = model.metadata().find(entry.first);
    return found != model.metadata().end() && found->second == entry.second;
  });
}

/// Same for a file, which may be missing or damaged. Throws FileError if it cannot be read now.
bool has_results(const std::filesystem::path& file, const Facts& results) {
  if (file_kind(file) != FileKind::file) return false;
  try {
    return has_results(ModelFile::read(file), results);
  } catch (const FileError&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

/// Checkpoint of step `step` in `folder` whose model has these results, if there is one.
std::optional<Checkpoint> find_checkpoint(const std::filesystem::path& folder, std::uint64_t step,
                                          const Facts& results) {
  for (const CheckpointEntry& entry : checkpoint_entries(folder)) {
    if (entry.name.step != step || !is_checkpoint(entry.path)) continue;
    try {
      Checkpoint checkpoint = read_checkpoint(entry.path);
      if (has_results(checkpoint.model, results)) return checkpoint;
    } catch (const Error& error) {
      print_warning(fmt::format("{}; it is not used", error.what()));
    }
  }
  return std::nullopt;
}

/// Whether `folder` has a whole checkpoint of a step after `step`, set aside or not.
bool has_later_checkpoint(const std::filesystem::path& folder, std::uint64_t step) {
  return std::ranges::any_of(checkpoint_entries(folder), [&](const CheckpointEntry& entry) {
    return entry.name.step > step && entry.name.kind != CheckpointName::Kind::temporary &&
           is_checkpoint(entry.path);
  });
}

/// Writes the model of a checkpoint as Trainer::save would have written it at that step.
void save_model(const Checkpoint& checkpoint, const Network& network, const std::filesystem::path& file) {
  std::map<std::string, std::string> metadata = checkpoint.model.metadata();
  metadata["digest"] = digest(network, results_of(checkpoint));
  write_model_file(file, result_tensors(checkpoint), metadata);
}

/// Renames the models of a run to NAME.XXXXXXXX.aside, because commands would take them for the run's
/// results. Prints a warning with `reason`.
void set_models_aside(const RunFolder& run, const std::string& reason) {
  std::vector<std::string> renamed;
  for (const auto& model : {run.final_model(), run.best()}) {  // best last: a start after a kill looks for it
    if (file_kind(model) != FileKind::file) continue;
    rename_folder(model, random_name(model, CheckpointName::aside_ending));
    renamed.insert(renamed.begin(), model.filename().string());
  }
  const std::string action =
      renamed.empty()
          ? ""
          : fmt::format("renamed {} to *{}, as ", fmt::join(renamed, " and "), CheckpointName::aside_ending);
  print_warning(fmt::format("{}: {}{}; the run has no best model until an epoch is better",
                            run.checkpoints().string(), action, reason));
}

}  // namespace

void restore_best_model(const RunPlace& place, const Trainer& trainer, const Network& network,
                        const DatasetPair& data) {
  const RunFolder& run = place.folder;
  const BestEpoch best = trainer.best();
  const std::uint64_t step = trainer.step();
  const Facts results{
      {"epoch", std::to_string(best.epoch)},
      result_entry(data.validation ? "validation" : "test", score_of(data.test->task()), best.score)};
  try {
    if (has_results(run.best(), results)) return;
    if (best.epoch == 0) {
      if (file_kind(run.best()) != FileKind::file) return;
      const bool goes_back = trainer.pass_until() > step || has_later_checkpoint(run.checkpoints(), step);
      // The run repeats an epoch that was cut short, or whose end has no checkpoint yet.
      const Facts next_epoch{{"epoch", std::to_string(trainer.epochs() + 1)}};
      if (!goes_back && has_results(run.best(), next_epoch)) return remove_file(run.best());
      return set_models_aside(run, fmt::format("no epoch is complete at step {}", step));
    }
    if (place.has_source()) {
      const RunFolder source(run_of(place.checkpoint));
      if (!source.path().empty() && has_results(source.best(), results)) {
        AtomicFile copy(run.best());
        copy.write(read_file(source.best()));
        return copy.commit();
      }
    }
    const std::uint64_t best_step = static_cast<std::uint64_t>(best.epoch) * trainer.steps_per_epoch();
    auto checkpoint = find_checkpoint(run.checkpoints(), best_step, results);
    if (!checkpoint && place.has_source()) {
      checkpoint = find_checkpoint(folder_of(place.checkpoint), best_step, results);
    }
    if (checkpoint) return save_model(*checkpoint, network, run.best());
    set_models_aside(
        run, fmt::format("no checkpoint of epoch {}, the best one up to step {}, is left", best.epoch, step));
  } catch (const Error& error) {
    print_warning(fmt::format("{}; {} may not be the best model until an epoch is better", error.what(),
                              run.best().string()));
  }
}

}  // namespace lockstep
