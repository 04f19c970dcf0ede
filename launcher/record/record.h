#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::check {

/// Record of a check of a machine (launcher/gpu-check.sh): facts about the machine, stages with their cases,
/// measured figures, and the limits that some figures have. Functions throw Error(usage) for names and values
/// that are not possible.
class Record {
 public:
  Record();
  /// Reads a record. A file that does not exist is an empty one. Throws Error(data) for a file that is no
  /// record.
  static Record read(const std::filesystem::path& file);

  /// Notes that a call of the check begins at `time` (UTC, ISO 8601). `targets`: lines
  /// "name|limit|unit|meaning" in the order of the tables, such as "lenet_us|<= 60|us/step|LeNet, a step";
  /// they replace earlier ones.
  void begin(const std::string& time, const std::string& targets);
  /// Sets a fact; an empty value removes it.
  void set_fact(const std::string& name, const std::string& value);
  /// Sets a figure, also that of the target of this name. `value` is a finite number.
  void set_figure(const std::string& name, const std::string& value, const std::string& unit = "");
  /// Sets a figure to the quotient of two, unless one of them was not measured or the divisor is zero.
  void set_quotient(const std::string& name, const std::string& over, const std::string& under);

  /// Begins a stage. It is recorded as "unfinished", which remains if the check is ended in it. An earlier
  /// stage of this name is removed.
  void begin_stage(const std::string& name);
  /// Adds a case to the stage that began last.
  void add_case(const std::string& name, const std::string& result, const std::string& seconds,
                const std::string& reason);
  /// Ends the stage that began last. `result`: passed, failed or skipped.
  void end_stage(const std::string& result, const std::string& seconds, const std::string& reason);

  /// Value of a fact or of a figure; none: there is no such one.
  std::optional<std::string> find(const std::string& name) const;

  const nlohmann::ordered_json& json() const { return json_; }

 private:
  nlohmann::ordered_json& last_stage();
  void set_target(nlohmann::ordered_json& target) const;

  nlohmann::ordered_json json_;
};

/// Whether a value keeps to a limit: an operator (<, <=, >, >=) and a number, such as "<= 60".
bool within(double value, const std::string& limit);

/// The record as a page of Markdown.
std::string page_of(const Record& record);

/// Replaces a file as a whole, synced to the disk: a process that is killed leaves the old one or the new
/// one. Throws Error(resource).
void replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace lockstep::check
