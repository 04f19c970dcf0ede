#include "train/checkpoints/restore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "core/options/check.h"
#include "core/text/command_line.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "data/image/jpeg.h"
#include "data/image/png.h"
#include "data/image/webp.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"
#include "lockstep/model_description.h"
#include "lockstep/schedule.h"
#include "lockstep/world.h"
#include "run/checkpoint/checkpoint.h"
#include "run/facts.h"

namespace lockstep {
namespace {

constexpr const char* epochs_name = "epochs";
constexpr const char* device_name = "device";

/// Fact whose value differs between a checkpoint and a run.
struct Difference {
  std::string name;
  std::string saved;
  std::string present;
};

std::vector<Difference> differences(const Facts& saved, const Facts& present) {
  std::vector<Difference> result;
  for (const auto& [name, value] : saved) {
    const std::string* now = find_fact(present, name);
    if (now != nullptr && *now != value) result.push_back({name, value, *now});
  }
  return result;
}

/// Whether the learning rates of the first `steps` steps differ between a run of `epochs` epochs and this
/// run.
bool changes_learning_rate(const Run& run, const std::string& epochs, std::uint64_t steps) {
  int before = 0;
  from_text(epochs, {}, before);
  if (before > 0 && run.options.schedule.warmup_epochs >= before) return true;  // LearningRate would throw
  const auto rate = [&](int of_epochs) {
    return LearningRate(run.options.schedule, largest_learning_rate(run.options), run.epoch.steps, of_epochs);
  };
  const LearningRate old_rate = rate(before), new_rate = rate(run.options.epochs);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    if (old_rate.at(step) != new_rate.at(step)) return true;
  }
  return false;
}

/// Throws Error(usage) if the run would end before the checkpoint's step: the record would contain steps
/// after the end of the run.
void check_length(const Checkpoint& checkpoint, const Run& run) {
  const auto epochs = static_cast<std::uint64_t>(run.options.epochs);
  if (const std::uint64_t max = run.options.max_steps; max > 0 && checkpoint.state.step > max) {
    throw Error(Category::usage,
                fmt::format("{} is less than the steps that the run has made: {}; give as many or more, or "
                            "resume an earlier checkpoint",
                            max, checkpoint.state.step),
                "max-steps");
  }
  if (checkpoint.state.step <= epochs * run.epoch.steps) return;
  throw Error(Category::usage,
              fmt::format("{} is less than the epochs that the run has begun: {} (step {}); give as many or "
                          "more, or resume an earlier checkpoint",
                          epochs, (checkpoint.state.step + run.epoch.steps - 1) / run.epoch.steps,
                          checkpoint.state.step),
              epochs_name);
}

std::string advice_to_begin_with(const Checkpoint& checkpoint) {
  const std::string model = CheckpointFolder{checkpoint.folder}.model().string();
  return fmt::format("begin a new run with its parameters ({})", shell_line({"--init-from", model}));
}

/// Part of a sentence about options that change the number of steps per epoch; empty if they do not. The run,
/// its record and its best epoch use this number to count epochs.
std::string effect_on_epochs(const Checkpoint& checkpoint, const Run& run) {
  TrainerOptions saved = run.options;
  const auto read = [&](const char* name, auto& value) {
    const std::string* text = find_fact(checkpoint.state.options, name);
    if (text != nullptr) from_text(*text, {.name = name, .range = {.min = 1}}, value);
  };
  read("batch-size", saved.batch.size);
  read("drop-last", saved.drop_last);
  const std::uint64_t steps = steps_of_epoch(saved, run.train.size()).steps;
  return steps == run.epoch.steps
             ? ""
             : fmt::format(", which gives an epoch {} instead of {} and is refused even with --force",
                           counted(run.epoch.steps, "step"), steps);
}

/// Compares the options that affect the result with the checkpoint's. If some differ, returns a warning with
/// `force`, and throws Error(usage) without it. Returns an empty text if none differs.
std::string compare_options(const Checkpoint& checkpoint, const CheckpointState& facts, const Run& run,
                            bool force) {
  std::vector<Difference> found = differences(checkpoint.state.options, facts.options);
  std::erase_if(found, [&](const Difference& difference) {
    if (difference.name == device_name) return true;  // part of the fingerprint
    return difference.name == epochs_name &&
           !changes_learning_rate(run, difference.saved, checkpoint.state.step);
  });
  if (found.empty()) return {};
  const auto shown = [](const std::string& value) { return value.empty() ? option_not_given : value; };
  std::vector<std::string> texts;
  for (const auto& [name, saved, present] : found) {
    texts.push_back(fmt::format("--{} was {} and is now {}", name, shown(saved), shown(present)));
  }
  if (force) {
    return fmt::format("the first {} were made with other options: {}",
                       counted(checkpoint.state.step, "step"), fmt::join(texts, ", "));
  }
  const bool only_epochs = found.size() == 1 && found.front().name == epochs_name;
  if (only_epochs) check_length(checkpoint, run);  // a run that is too short is refused even with --force
  std::string effect = effect_on_epochs(checkpoint, run), ways;
  if (effect.empty()) ways = ", or --force to continue with the new ones, which changes the result";
  if (only_epochs || !effect.empty()) ways += ", or " + advice_to_begin_with(checkpoint);
  if (only_epochs) effect = ", which changes the learning rates of steps already made";
  throw Error(Category::usage,
              fmt::format("{}: options that affect the result differ: {}{}; use the checkpoint's{}",
                          checkpoint.folder.string(), fmt::join(texts, ", "), effect, ways),
              found.front().name);
}

/// Throws Error(usage) if changed options change the number of steps per epoch. `changed`: warning about
/// these options.
void check_epochs(const Checkpoint& checkpoint, const Run& run, const std::string& changed) {
  const std::string effect = effect_on_epochs(checkpoint, run);
  if (effect.empty()) return;
  throw Error(Category::usage,
              fmt::format("{}: {}{}; use the checkpoint's, or {}", checkpoint.folder.string(), changed,
                          effect, advice_to_begin_with(checkpoint)),
              "force");
}

/// Sentence saying that part `name` of the identity differs from the checkpoint's. `folder`: --data-dir of
/// the checkpoint's run; null if unknown.
std::string describe_other(const std::string& name, const std::string* folder) {
  if (name == "network") {
    return "the network is not that of the run: --model names another, its file has changed since (lockstep "
           "inspect --json shows the run's), or the shape or the classes of the data have";
  }
  if (name.starts_with("decoded")) {
    return fmt::format(
        "the {} are not those of the run: its files have changed since, or the libraries that decode them "
        "are other versions",
        name);
  }
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return fmt::format("the {} set is not that of the run{}: it has changed since, or --data-dir names another",
                     has("training")     ? "training"
                     : has("validation") ? "validation"
                                         : "test",
                     folder == nullptr ? "" : fmt::format(" ({})", shell_line({"--data-dir", *folder})));
}

/// Throws Error(data) for a checkpoint of another network or data set. `changed`: warning about changed
/// options; empty if there are none.
void check_identity(const Checkpoint& checkpoint, const CheckpointState& facts, const std::string& changed) {
  const std::vector<Difference> found = differences(checkpoint.state.identity, facts.identity);
  if (found.empty()) return;
  const Facts data = description_of(checkpoint.model).data;
  throw Error(Category::data, fmt::format("{}: {}{}{}", checkpoint.folder.string(),
                                          describe_other(found.front().name, find_fact(data, "data-dir")),
                                          changed.empty() ? "" : "; ", changed));
}

/// Throws Error(usage) if the checkpoint lacks an average or an optimizer state that this run needs, because
/// the checkpoint was written with other options.
void check_states(const Checkpoint& checkpoint, const TrainingState& state, const Run& run) {
  for (const NamedArena& arena : state.arenas().subspan(1)) {
    const std::vector<StateTensor> needed = state_tensors(arena, run);
    const auto& found = checkpoint.optimizer.tensors();
    if (needed.empty() || std::ranges::find(found, needed[0].name, &TensorInfo::name) != found.end())
      continue;
    throw Error(Category::usage,
                fmt::format("{} has no '{}', which these options need: use its options, or {}",
                            checkpoint.folder.string(), arena.name, advice_to_begin_with(checkpoint)),
                "force");
  }
}

/// Remarks on differences from the run that wrote the checkpoint. None of them is an error.
std::vector<std::string> remarks_on(const CheckpointState& saved, const CheckpointState& facts) {
  std::vector<std::string> remarks;
  for (const auto& [name, before, now] : differences(saved.options, facts.options)) {
    // More epochs are a deliberate choice; fewer may be the default, if options.cfg is missing.
    int old_epochs = 0, new_epochs = 0;
    if (name != epochs_name) continue;
    from_text(before, {}, old_epochs);
    from_text(now, {}, new_epochs);
    if (new_epochs < old_epochs) remarks.push_back(fmt::format("--epochs was {} and is now {}", before, now));
  }
  for (const auto& [name, before, now] : differences(saved.fingerprint, facts.fingerprint)) {
    remarks.push_back(
        fmt::format("{} was {} and is now {}: the result may differ from that of an uninterrupted run", name,
                    before, now));
  }
  if (saved.engines != facts.engines) {
    remarks.emplace_back(
        "cuDNN chooses other engines than before: the result may differ from that of an uninterrupted run");
  }
  return remarks;
}

/// Part of an arena, and its values in the checkpoint.
struct Source {
  const NamedArena* arena;
  std::size_t offset;  ///< first element
  std::size_t elements;
  std::span<const float> values;  ///< empty on ranks that have not read the checkpoint
};

/// Parts of all arenas, in the same order on all ranks. `checkpoint`: null on ranks that have not read it.
std::vector<Source> sources(const TrainingState& state, const Run& run, const Checkpoint* checkpoint) {
  std::vector<Source> result;
  const auto add = [&](const NamedArena& arena, std::size_t offset, const Parameter& parameter,
                       const ModelFile Checkpoint::*file, const std::string& name) {
    std::span<const float> values;
    if (checkpoint != nullptr) values = (checkpoint->*file).floats(name, parameter.shape);
    result.push_back({.arena = &arena, .offset = offset, .elements = parameter.size(), .values = values});
  };
  const std::vector<Parameter>& parameters = run.network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    add(state.arenas().front(), run.layout.offsets[i], parameters[i], &Checkpoint::model, parameters[i].name);
  }
  for (const NamedArena& arena : state.arenas().subspan(1)) {
    for (const StateTensor& tensor : state_tensors(arena, run)) {
      add(arena, tensor.offset, *tensor.parameter, &Checkpoint::optimizer, tensor.name);
    }
  }
  return result;
}

/// Writes `values` to the arena from element `offset` on, except elements that this rank does not store.
void store(Device& device, const NamedArena& arena, std::size_t offset, std::span<const float> values) {
  const std::size_t begin = std::max(offset, arena.begin);
  const std::size_t end = std::min(offset + values.size(), arena.begin + arena.values().size());
  if (begin >= end) return;
  device.copy(arena.values().data() + (begin - arena.begin), values.data() + (begin - offset),
              (end - begin) * sizeof(float));
}

/// Sends the values of a source from rank 0 to all ranks, in pieces, and stores them.
void distribute(const Session& session, const Source& source) {
  constexpr std::size_t piece = std::size_t{8 << 20} / sizeof(float);
  for (std::size_t done = 0; done < source.elements; done += piece) {
    const std::size_t count = std::min(piece, source.elements - done);
    const auto own = source.values.empty() ? std::span<const float>() : source.values.subspan(done, count);
    const std::vector<std::byte> bytes = session.world().broadcast(std::as_bytes(own));
    std::vector<float> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    store(session.device(), *source.arena, source.offset + done, values);
  }
}

static_assert(std::is_trivially_copyable_v<Progress>, "progress travels as bytes");

Progress progress_of(const Checkpoint& checkpoint) {
  const Facts& saved = checkpoint.state.progress;
  const std::string file = CheckpointFolder{checkpoint.folder}.state().string();
  if (find_fact(saved, "step") == nullptr)
    throw Error(Category::data, fmt::format("{}: progress has no 'step'", file));
  Progress progress;
  visit(progress, [&](auto& value, const Field& field) {
    const std::string* const text = find_fact(saved, field.name);
    if (text == nullptr) return;  // the checkpoint is older than this field
    try {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>) {
        value = parse_number(*text);  // from_text rejects numbers outside the range of floats
      } else {
        from_text(*text, field, value);
      }
    } catch (const Error& error) {
      throw Error(Category::data, fmt::format("{}: progress: {}: {}", file, field.name, error.message()));
    }
  });
  return progress;
}

}  // namespace

CheckpointState facts_of(const Session& session, const Run& run, const std::vector<Line>& identity) {
  CheckpointState facts;
  const std::vector<OptionText> texts = texts_of(run.options);
  for (const OptionText& text : texts) {
    const std::string name = text.field.name;
    // With rank weights, ranks may have different devices. Models then record the device of rank 0, which
    // writes them.
    const bool recorded = affects_result(texts, text) || name == epochs_name || name == device_name;
    if (recorded && has_effect(texts, text)) facts.options.emplace_back(text.field.name, text.value);
  }
  for (const auto& [name, value] : identity) facts.identity.emplace_back(name, value);
  const bool on_cpu = run.options.execution.device == DeviceKind::cpu;
  facts.fingerprint = {{"version", version()},
                       {"revision", revision()},
                       {"processor", on_cpu ? "CPU" : session.backend().name()}};
  if (!on_cpu) {
    const cuda::Probe libraries = cuda::probe(cuda::Detail::needed);
    facts.fingerprint.emplace_back("CUDA", cuda::cuda_version_text(libraries.built_for));
    facts.fingerprint.emplace_back("cuDNN", libraries.cudnn.version);
  }
  if (run.train.encoding() == Encoding::image_file || run.test.encoding() == Encoding::image_file) {
    facts.fingerprint.emplace_back("libjpeg", jpeg_library());
    facts.fingerprint.emplace_back("libpng", png_library());
    facts.fingerprint.emplace_back("libwebp", webp_library());
  }
  if (run.options.reduce == Reduce::ring) {
    facts.fingerprint.emplace_back("MPI", session.world().library());
    facts.fingerprint.emplace_back("number of ranks", std::to_string(session.world().size()));
  }
  facts.engines = session.backend().engines();
  return facts;
}

std::vector<std::string> restore(const Session& session, const Run& run, const std::filesystem::path& folder,
                                 const CheckpointState& facts, bool force, TrainingState& state) {
  const World& world = session.world();
  std::optional<Checkpoint> checkpoint;
  std::vector<Source> parts;
  std::string changed;
  Progress progress;
  world.agree([&] {
    if (world.rank() == 0) {
      checkpoint = read_checkpoint(folder);
      changed = compare_options(*checkpoint, facts, run, force);
      check_identity(*checkpoint, facts, changed);
      check_epochs(*checkpoint, run, changed);
      check_length(*checkpoint, run);
      check_states(*checkpoint, state, run);
      state.evaluation = description_of(checkpoint->model).results;
    }
    parts = sources(state, run, checkpoint ? &*checkpoint : nullptr);
    if (checkpoint) progress = progress_of(*checkpoint);
    // With changed options, earlier steps of this epoch may have read other samples: discard their contents.
    if (!changed.empty()) progress.partial_step = 0;
  });
  const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(&progress, 1)));
  std::memcpy(&state.progress, bytes.data(), sizeof progress);
  for (const Source& source : parts) distribute(session, source);
  world.barrier();  // ranks of a host may write to shared arenas
  if (!checkpoint) return {};
  std::vector<std::string> remarks = remarks_on(checkpoint->state, facts);
  if (!changed.empty()) remarks.insert(remarks.begin(), changed);
  return remarks;
}

}  // namespace lockstep
