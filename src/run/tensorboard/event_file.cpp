#include "run/tensorboard/event_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/files/folder.h"
#include "core/text/whole_number.h"
#include "run/tensorboard/event_records.h"
#include "run/tensorboard/summary.h"

namespace lockstep::tensorboard {
namespace {

// TensorBoard reads files whose names contain "tfevents", in the order of their names.
constexpr std::string_view prefix = "events.out.tfevents.", suffix = ".lockstep";

/// Number in the name of one of lockstep's files; nullopt for another name.
std::optional<std::uint64_t> number_of(std::string_view name) {
  return whole_number<std::uint64_t>(middle_of(name, prefix, suffix));
}

/// Seconds of training until each event of a record; events must be visited in order.
class Clock {
 public:
  double until(const StepReport& step) {
    const std::uint64_t steps = last_step_ == 0 ? 1 : step.step - last_step_;  // covered by this line
    if (std::isfinite(step.seconds)) steps_ += step.seconds * static_cast<double>(steps);
    last_step_ = step.step;
    return steps_;
  }
  double until(const EpochReport& epoch) {
    if (std::isfinite(epoch.seconds)) epochs_ += epoch.seconds;
    steps_ = std::max(steps_, epochs_);  // steps may be missing
    return steps_;
  }

 private:
  double steps_ = 0.0;
  double epochs_ = 0.0;
  std::uint64_t last_step_ = 0;
};

/// Calls use(event, seconds) for the events of a record in the order in which they happened. Returns the
/// seconds of the last event.
template <class Use>
double for_each_event(const RunRecord& record, const Use& use) {
  Clock clock;
  double seconds = 0.0;
  auto step = record.steps.begin();
  const auto steps_until = [&](int epoch) {
    for (; step != record.steps.end() && step->epoch <= epoch; ++step)
      use(*step, seconds = clock.until(*step));
  };
  auto confusion = record.confusions.begin();
  for (const EpochReport& epoch : record.epochs) {
    steps_until(epoch.epoch);
    seconds = clock.until(epoch);
    for (; confusion != record.confusions.end() && confusion->epoch <= epoch.epoch; ++confusion)
      use(*confusion, seconds);
    use(epoch, seconds);
  }
  steps_until(std::numeric_limits<int>::max());
  if (record.end) use(*record.end, seconds);
  return seconds;
}

/// Path of a new file in `folder`, which is created if missing. The name sorts after those of all files that
/// lockstep wrote there.
std::filesystem::path new_path(const std::filesystem::path& folder) {
  make_folder(folder);
  auto number = static_cast<std::uint64_t>(clock_seconds(CLOCK_REALTIME));
  for (const std::string& name : list_folder(folder)) {
    if (const std::optional<std::uint64_t> found = number_of(name)) number = std::max(number, *found + 1);
  }
  return folder / fmt::format("{}{:010}{}", prefix, number, suffix);
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, const RunRecord& record, double end)
    : path_(new_path(folder)), file_(path_) {
  const double start = end - for_each_event(record, [](const RunEvent& /*event*/, double /*seconds*/) {});
  append_start(pending_, start);
  append_record(pending_, summary_of("options", record.options), start);
  append_record(pending_, summary_of("environment", record.environment), start);
  for_each_event(record, [&](const RunEvent& event, double seconds) { add(event, start + seconds); });
  flush();
  std::vector<std::filesystem::path> earlier;
  for (const std::string& name : list_folder(folder)) {
    if (number_of(name) && folder / name != path_) earlier.push_back(folder / name);
  }
  for (const std::filesystem::path& file : earlier) empty_file(file);
  constexpr std::size_t most_empty = 100;
  earlier.resize(earlier.size() - std::min(earlier.size(), most_empty));
  for (const std::filesystem::path& file : earlier) remove_file(file);
}

void EventFile::add(const RunEvent& event, double time) { append_record(pending_, summary_of(event), time); }

void EventFile::flush() {
  if (pending_.empty()) return;
  file_.append(pending_);
  pending_.clear();
}

}  // namespace lockstep::tensorboard
