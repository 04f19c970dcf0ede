#include <algorithm>
#include <string>

#include "record/record.h"

namespace lockstep::check {
namespace {

using Json = nlohmann::ordered_json;

/// A value as the text of a table's cell.
std::string cell(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string row(std::initializer_list<std::string> cells) {
  std::string line = "|";
  for (const std::string& one : cells) line += " " + one + " |";
  return line + "\n";
}

std::string head(const std::string& title, std::initializer_list<std::string> cells) {
  std::string rule = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return "\n## " + title + "\n\n" + row(cells) + rule + "\n";
}

std::string result_cell(const Json& result) {
  return result == "passed" ? cell(result) : "**" + cell(result) + "**";
}

std::string met_cell(const Json& met) {
  if (met.is_null()) return "not measured";
  return met.get<bool>() ? "yes" : "**no**";
}

std::string targets(const Json& record) {
  std::string text = head("Targets", {"target", "limit", "measured", "met"});
  for (const Json& one : record["targets"]) {
    text += row({cell(one["meaning"]), cell(one["limit"]) + " " + cell(one["unit"]), cell(one["value"]),
                 met_cell(one["met"])});
  }
  return text;
}

std::string stages(const Json& record) {
  std::string text = head("Stages", {"stage", "result", "s", ""});
  std::string cases;
  for (const Json& stage : record["stages"]) {
    text += row(
        {cell(stage["name"]), result_cell(stage["result"]), cell(stage["seconds"]), cell(stage["reason"])});
    for (const Json& one : stage["cases"]) {
      cases += row({cell(stage["name"]), cell(one["name"]), result_cell(one["result"]), cell(one["seconds"]),
                    cell(one["reason"])});
    }
  }
  return text + head("Cases", {"stage", "case", "result", "s", ""}) + cases;
}

std::string figures(const Json& record) {
  std::string text = head("Figures", {"figure", "measured", "unit"});
  for (const Json& one : record["figures"])
    text += row({cell(one["name"]), cell(one["value"]), cell(one["unit"])});
  return text;
}

std::string machine(const Json& record) {
  std::string text = head("Machine", {"fact", ""});
  for (const auto& [name, value] : record["machine"].items()) text += row({name, cell(value)});
  return text;
}

}  // namespace

std::string page_of(const Record& record) {
  const Json& json = record.json();
  std::string text = "# gpu-check";
  if (const auto host = record.find("host")) text += " on " + *host;
  text += "\n\nCalls:";
  for (const Json& call : json["calls"]) text += " " + cell(call);
  return text + "\n" + targets(json) + stages(json) + figures(json) + machine(json);
}

}  // namespace lockstep::check
