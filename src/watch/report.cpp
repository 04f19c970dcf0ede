#include "watch/report.h"

#include <unistd.h>

#include <exception>
#include <utility>

#include "core/files/atomic_file.h"
#include "core/files/temporary_folder.h"
#include "core/json/json.h"
#include "core/text/message.h"

namespace lockstep {
namespace {

JsonValue json_of_call(const CollectiveCall& call) {
  JsonValue json{{"collective", name_of(call.kind)}};
  if (call.number > 0) {
    json["ranks"] = call.group == Group::host ? "host" : "all";
    json["number"] = call.number;
  }
  if (call.bytes > 0) json["bytes"] = call.bytes;
  return json;
}

JsonValue json_of_activity(const Activity& activity, std::int64_t now) {
  JsonValue json{{"seconds_ago", 1e-9 * static_cast<double>(now - activity.time)},
                 {"stage", name_of(activity.stage)},
                 {"step", activity.step},
                 {"waits", activity.waits}};
  if (activity.call.kind != Collective::none) json.update(json_of_call(activity.call));
  return json;
}

const char* state_of(const RankState& state) {
  if (!state.known) return "unknown";
  if (state.ended) return "ended";
  if (state.process == 0) return "not started";
  if (state.stopped) return "stopped";
  return state.now.waits ? "waits" : "works";
}

JsonValue json_of_rank(const FailureReport& report, std::size_t rank) {
  const RankState& state = report.table.ranks[rank];
  JsonValue json{{"rank", report.table.number_of(rank)},
                 {"host", report.table.hosts[report.table.host_of(rank)]},
                 {"process", state.process},
                 {"state", state_of(state)},
                 {"place", describe_place(state)},
                 {"still_seconds", state.still},
                 {"waited_seconds", state.waited},
                 {"usual_step_seconds", state.usual_step},
                 {"silent_seconds", state.silent}};
  if (state.now.call.kind != Collective::none) json["last"] = json_of_call(state.now.call);
  JsonValue recent = JsonValue::array();
  const std::size_t local = rank - report.first;
  if (rank >= report.first && local < report.slots.size() && report.slots[local] >= 0) {
    const std::int64_t now = coarse_time();
    for (const Activity& activity : report.memory.rank(report.slots[local]).ring.history()) {
      recent.push_back(json_of_activity(activity, now));
    }
  } else {
    for (const CollectiveCall& call : state.recent()) recent.push_back(json_of_call(call));
  }
  json["recent"] = std::move(recent);
  return json;
}

std::string text_of(const FailureReport& report) {
  JsonValue at_fault = JsonValue::array();
  for (const std::size_t rank : report.verdict.ranks_at_fault)
    at_fault.push_back(report.table.number_of(rank));
  JsonValue json{{"failure", report.verdict.sentence},
                 {"ranks_at_fault", std::move(at_fault)},
                 {"limit_seconds", report.limits.usual},
                 {"patient_limit_seconds", report.limits.patient}};
  JsonValue ranks = JsonValue::array();
  for (std::size_t rank = 0; rank < report.table.ranks.size(); ++rank)
    ranks.push_back(json_of_rank(report, rank));
  json["ranks"] = std::move(ranks);
  return json_text(json, 2) + "\n";
}

}  // namespace

void write_report(const FailureReport& report, const std::filesystem::path& folder) {
  const std::string name = watchdog_report_prefix + std::to_string(getpid()) + ".json";
  std::vector<std::filesystem::path> folders{temporary_folder()};
  if (!folder.empty()) folders.insert(folders.begin(), folder);
  for (const std::filesystem::path& candidate : folders) {
    try {
      write_text_file(candidate / name, text_of(report));
      print_message("lockstep: state of all ranks: " + (candidate / name).string());
      return;
    } catch (const std::exception&) {
      continue;  // the next folder
    }
  }
}

}  // namespace lockstep
