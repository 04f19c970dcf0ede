#include "run/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/files/file.h"
#include "core/files/line_reader.h"
#include "core/json/json.h"
#include "lockstep/error.h"
#include "run/facts.h"
#include "run/record_line.h"

namespace lockstep {
namespace {

constexpr std::size_t longest_line = 1 << 24;  // a ConfusionReport, whose class names may be long
constexpr std::size_t longest_file = 1 << 20;  // options.cfg and environment.json

/// Appends `entry` to an ascending list, replacing entries from its number on: a resumed run repeats steps.
template <class Entry, class Number>
void add_entry(std::vector<Entry>& list, Entry entry, Number Entry::*number) {
  while (!list.empty() && list.back().*number >= entry.*number) list.pop_back();
  list.push_back(std::move(entry));
}

void add_line(RunRecord& record, const std::string& line) {
  const std::optional<RunEvent> event = RecordLine(line).event();
  if (!event) return;
  record.stopped.reset();  // a resumed run has continued
  observer([&](const StepReport& step) { add_entry(record.steps, step, &StepReport::step); },
           [&](const EpochReport& epoch) {
             add_entry(record.epochs, epoch, &EpochReport::epoch);
             if (epoch.digest.empty()) return;
             add_entry(record.epoch_digests, {static_cast<std::uint64_t>(epoch.epoch), epoch.digest},
                       &RecordedDigest::number);
           },
           [&](const ConfusionReport& confusion) {
             add_entry(record.confusions, confusion, &ConfusionReport::epoch);
           },
           [&](const DigestReport& digest) {
             add_entry(record.step_digests, {digest.step, digest.digest}, &RecordedDigest::number);
           },
           [&](const NotFiniteReport& report) {
             if (report.handling == OnNan::stop) record.stopped = report;
           },
           [&](const EndReport& end) { record.end = end; })(*event);
}

void read_metrics(RunRecord& record, const std::filesystem::path& file) {
  if (file_kind(file) == FileKind::missing) {
    refuse_file(file, fmt::format("No such file; is {} the run directory of a run?", record.name));
  }
  LineReader lines(file, longest_line);
  for (std::string line; lines.next(line);) {
    try {
      add_line(record, line);
    } catch (const Error& error) {
      refuse_file(file, fmt::format("line {}: {}; remove this line to read the others", lines.number(),
                                    error.what()));
    }
  }
}

/// Text of options.cfg or environment.json; empty if there is no such file.
std::string read_small_file(const std::filesystem::path& file) {
  return file_kind(file) == FileKind::missing ? std::string() : read_text(file, longest_file);
}

Facts read_environment(const std::filesystem::path& file) {
  const std::string text = read_small_file(file);
  if (text.empty()) return {};
  const JsonDocument document(text, {.file = file.string()});
  document.check_object(document.root());
  Facts facts;
  for (const auto& [name, value] : document.root().items()) {
    facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return facts;
}

/// Lines of options.cfg as they are, including options that this version does not know.
Facts read_options(const std::filesystem::path& file) {
  std::istringstream lines(read_small_file(file));
  Facts facts;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    facts.emplace_back(line.substr(0, equals), line.substr(equals + 3));
  }
  return facts;
}

}  // namespace

std::string reason_without_end(const RunRecord& record) {
  if (!record.stopped) return "the run is in progress, or was interrupted";
  return fmt::format("the run stopped at step {}, as {}", record.stopped->step, record.stopped->what());
}

SampleKind samples_of(const RunRecord& record) {
  const std::string* const kind = find_fact(record.environment, "samples");
  return kind != nullptr && *kind == name_of(SampleKind::row) ? SampleKind::row : SampleKind::image;
}

RunRecord read_run_record(const RunFolder& folder) {
  RunRecord record;
  record.name = folder.path().lexically_normal().string();
  read_metrics(record, folder.metrics());
  record.options = read_options(folder.options());
  record.environment = read_environment(folder.environment());
  int epochs = 1;
  for (const StepReport& step : record.steps) epochs = std::max(epochs, step.epoch);
  for (const EpochReport& epoch : record.epochs) epochs = std::max(epochs, epoch.epoch);
  for (StepReport& step : record.steps) step.epochs = epochs;
  for (EpochReport& epoch : record.epochs) epoch.epochs = epochs;
  return record;
}

}  // namespace lockstep
