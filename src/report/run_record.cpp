#include "report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/files/file.h"
#include "core/files/line_reader.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_line = 1 << 16;
constexpr std::size_t longest_file = 1 << 20;  // options.cfg and environment.json

[[noreturn]] void reject(const std::filesystem::path& file, const std::string& reason) {
  throw Error(Category::data, fmt::format("{}: {}", file.string(), reason));
}

double number(const Json& json, const char* name) {
  const Json& value = json.at(name);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// Loss and accuracy of the part called `part`: "train", "test" or "validation".
Evaluation evaluation(const Json& json, const std::string& part) {
  return {.skipped = json.value(part + "_left_out", std::uint64_t{0}),
          .loss = number(json, (part + "_loss").c_str()),
          .accuracy = number(json, (part + "_accuracy").c_str())};
}

StepReport step_event(const Json& json) {
  return {.epoch = json.at("epoch").get<int>(),
          .step = json.at("step").get<std::uint64_t>(),
          .samples = json.at("samples").get<std::uint64_t>(),
          .loss = number(json, "loss"),
          .learning_rate = static_cast<float>(number(json, "learning_rate")),
          .seconds = number(json, "seconds")};
}

EpochReport epoch_event(const Json& json) {
  EpochReport epoch{.epoch = json.at("epoch").get<int>(),
                    .train = evaluation(json, "train"),
                    .test = evaluation(json, "test"),
                    .seconds = number(json, "seconds")};
  if (json.contains("validation_loss")) epoch.validation = evaluation(json, "validation");
  const double samples = number(json, "images_per_second") * epoch.seconds;
  if (std::isfinite(samples)) epoch.train.samples = static_cast<std::uint64_t>(std::llround(samples));
  return epoch;
}

/// Digest of the event; `unit` is the name of its number.
RecordedDigest recorded_digest(const Json& json, const char* unit) {
  return {.number = json.at(unit).get<std::uint64_t>(), .digest = json.at("digest").get<std::string>()};
}

/// Appends `entry` to an ascending list, instead of those from its number on. A resumed run repeats steps.
template <class Entry, class Number>
void add_entry(std::vector<Entry>& list, Entry entry, Number Entry::*number) {
  while (!list.empty() && list.back().*number >= entry.*number) list.pop_back();
  list.push_back(std::move(entry));
}

void add_line(RunRecord& record, const std::string& line) {
  const Json json = Json::parse(line);
  const auto event = json.at("event").get<std::string>();
  if (event == "step") {
    add_entry(record.steps, step_event(json), &StepReport::step);
  } else if (event == "epoch") {
    add_entry(record.epochs, epoch_event(json), &EpochReport::epoch);
    if (json.contains("digest"))
      add_entry(record.epoch_digests, recorded_digest(json, "epoch"), &RecordedDigest::number);
  } else if (event == "digest") {
    add_entry(record.step_digests, recorded_digest(json, "step"), &RecordedDigest::number);
  } else if (event == "end") {
    record.end = EndReport{json.at("digest").get<std::string>(), json.value("note", std::string())};
  }  // ignores other events, of later versions
}

void read_metrics(RunRecord& record, const std::filesystem::path& file) {
  if (file_kind(file) == FileKind::missing) {
    reject(file, fmt::format("No such file; is {} the run directory of a run?", record.name));
  }
  LineReader lines(file, longest_line);
  for (std::string line; lines.next(line);) {
    try {
      add_line(record, line);
    } catch (const Json::exception& error) {
      reject(file, fmt::format("line {}: {}", lines.number(), error.what()));
    }
  }
}

/// Empty where there is no such file.
std::string read_small_file(const std::filesystem::path& file) {
  return file_kind(file) == FileKind::missing ? std::string() : read_text(file, longest_file);
}

RunRecord::Facts read_environment(const std::filesystem::path& file) {
  const std::string text = read_small_file(file);
  if (text.empty()) return {};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) reject(file, "is not a JSON object");
  RunRecord::Facts facts;
  for (const auto& [name, value] : json.items()) {
    facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return facts;
}

/// Lines of options.cfg as they are, including options that this version does not know.
RunRecord::Facts read_options(const std::filesystem::path& file) {
  std::istringstream lines(read_small_file(file));
  RunRecord::Facts facts;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    facts.emplace_back(line.substr(0, equals), line.substr(equals + 3));
  }
  return facts;
}

}  // namespace

RunRecord read_run_record(const RunDirectory& directory) {
  RunRecord record;
  record.name = directory.path.lexically_normal().string();
  read_metrics(record, directory.metrics());
  record.options = read_options(directory.options());
  record.environment = read_environment(directory.environment());
  int epochs = 1;
  for (const StepReport& step : record.steps) epochs = std::max(epochs, step.epoch);
  for (const EpochReport& epoch : record.epochs) epochs = std::max(epochs, epoch.epoch);
  for (StepReport& step : record.steps) step.epochs = epochs;
  for (EpochReport& epoch : record.epochs) epoch.epochs = epochs;
  return record;
}

}  // namespace lockstep
