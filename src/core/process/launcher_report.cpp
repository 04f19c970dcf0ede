#include "core/process/launcher_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "core/json/json.h"
#include "core/json/members.h"
#include "core/options/internal_variables.h"
#include "lockstep/error.h"

namespace lockstep {

LOCKSTEP_MEMBERS(LauncherReport::Failure, rank, host, cause, kind, known)
LOCKSTEP_MEMBERS(LauncherReport::Stop, cause, text)
LOCKSTEP_MEMBERS(LauncherReport, failure, stop, run_directory, step, checkpoint, status)

namespace {

constexpr std::string_view protocol = "3:";

/// Secret of this process's job; empty if lockstep-run did not start the process.
std::string_view own_secret() {
  const char* const value = std::getenv(launcher_variable);
  const std::string_view text = value == nullptr ? "" : value;
  return text.starts_with(protocol) ? text.substr(protocol.size()) : "";
}

}  // namespace

std::string launcher_value(const std::string& secret) { return std::string(protocol) + secret; }

std::string report_marker(const std::string& secret) { return "lockstep-" + secret + " "; }

std::string report_text(const LauncherReport& report) {
  JsonValue json = JsonValue::object();
  visit(report, [&](const auto& member, const Field& field) {
    if (member) json[field.name] = json_of(*member);
  });
  return json_message(std::move(json));
}

std::optional<LauncherReport> parse_report(std::string_view text) {
  try {
    const JsonDocument document(text, {.file = "report", .is_message = true});
    const JsonValue& json = document.root();
    document.check_object(json);
    LauncherReport report;
    visit(report, [&](auto& member, const Field& field) {
      if (const auto found = json.find(field.name); found != json.end()) {
        using Value = typename std::decay_t<decltype(member)>::value_type;
        document.read(*found, member.emplace(Value{}));
      }
    });
    return report;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string stop_line(const LauncherReport::Stop& stop) {
  return "lockstep: stopped by " + stop.cause + " " + stop.text;
}

bool has_launcher() { return !own_secret().empty(); }

double seconds_before_this_start() {
  const char* const text = std::getenv(seconds_before_variable);
  return text == nullptr ? 0.0 : std::max(0.0, std::strtod(text, nullptr));
}

void check_launcher() {
  const bool is_old = std::getenv(old_launcher_variable) != nullptr;
  const bool is_unknown = std::getenv(launcher_variable) != nullptr && own_secret().empty();
  if (!is_old && !is_unknown) return;
  throw Error(Category::usage,
              "lockstep-run and lockstep have incompatible versions: use both from one build");
}

void report_to_launcher(const LauncherReport& report) {
  const std::string_view secret = own_secret();
  if (secret.empty()) return;
  const std::string line = report_marker(std::string(secret)) + report_text(report) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace lockstep
