#include "core/launcher_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/json/json.h"
#include "core/options/internal_variables.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::string_view protocol = "3:";

/// Secret of this process's job; empty: it was not started by lockstep-run.
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
  if (!report.run_directory.empty()) json["run_directory"] = report.run_directory;
  if (report.failure) {
    const LauncherReport::Failure& failure = *report.failure;
    json["failure"] = {{"rank", failure.rank},
                       {"host", failure.host},
                       {"cause", failure.cause},
                       {"kind", failure.kind},
                       {"known", failure.known}};
  }
  if (report.stop) json["stop"] = {{"cause", report.stop->cause}, {"text", report.stop->text}};
  if (report.step) json["step"] = *report.step;
  if (report.checkpoint) json["checkpoint"] = *report.checkpoint;
  if (report.status) json["status"] = *report.status;
  return json_text(json, -1, true);
}

std::optional<LauncherReport> parse_report(std::string_view text) {
  try {
    const JsonValue json = JsonValue::parse(text);
    const auto number = [&](const char* name) {
      const auto found = json.find(name);
      return found == json.end() ? std::nullopt : std::optional(found->get<std::uint64_t>());
    };
    LauncherReport report{.run_directory = json.value("run_directory", ""),
                          .step = number("step"),
                          .checkpoint = number("checkpoint")};
    if (const auto status = number("status")) report.status = static_cast<int>(*status);
    if (const auto found = json.find("failure"); found != json.end()) {
      report.failure = {.rank = found->at("rank").get<int>(),
                        .host = found->at("host").get<std::string>(),
                        .cause = found->at("cause").get<std::string>(),
                        .kind = found->value("kind", ""),
                        .known = found->value("known", true)};
    }
    if (const auto found = json.find("stop"); found != json.end()) {
      report.stop = {.cause = found->at("cause").get<std::string>(),
                     .text = found->at("text").get<std::string>()};
    }
    return report;
  } catch (const JsonValue::exception&) {
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
