#include "record/record.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "lockstep/error.h"

namespace lockstep::check {
namespace {

using Json = nlohmann::ordered_json;

double number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) {
    throw Error(Category::usage, "'" + text + "' is not a finite number");
  }
  return value;
}

/// Entry of that name in a list of objects; null: none.
template <class List>
auto* find_named(List& list, const std::string& name) {
  for (auto& one : list) {
    if (one["name"] == name) return &one;
  }
  return static_cast<decltype(&list[0])>(nullptr);
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// A result of a stage or of a case of one.
std::string result_of(const std::string& text) {
  if (text == "passed" || text == "failed" || text == "skipped") return text;
  throw Error(Category::usage, "result '" + text + "': passed, failed or skipped is wanted");
}

}  // namespace

bool within(double value, const std::string& limit) {
  using Compare = bool (*)(double, double);
  static const std::map<std::string, Compare> operators = {{"<", [](double a, double b) { return a < b; }},
                                                           {"<=", [](double a, double b) { return a <= b; }},
                                                           {">", [](double a, double b) { return a > b; }},
                                                           {">=", [](double a, double b) { return a >= b; }}};
  const std::vector<std::string> parts = split(limit, ' ');
  const auto found = parts.size() == 2 ? operators.find(parts[0]) : operators.end();
  if (found == operators.end()) {
    throw Error(Category::usage, "limit '" + limit + "': an operator and a number are wanted, as in '<= 60'");
  }
  return found->second(value, number(parts[1]));
}

Record::Record()
    : json_({{"calls", Json::array()},
             {"targets", Json::array()},
             {"stages", Json::array()},
             {"figures", Json::array()},
             {"machine", Json::object()}}) {}

Record Record::read(const std::filesystem::path& file) {
  Record record;
  std::ifstream stream(file);
  if (!stream) return record;
  Json found = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  for (const auto& [name, value] : record.json_.items()) {
    if (!found.is_object() || !found.contains(name) || found[name].type() != value.type()) {
      throw Error(Category::data,
                  file.string() + " is not a record of gpu-check: remove it, or choose another folder");
    }
  }
  record.json_ = std::move(found);
  return record;
}

void Record::set_target(Json& target) const {
  const auto* figure = find_named(json_["figures"], target["name"]);
  if (figure == nullptr) return;
  target["value"] = (*figure)["value"];
  target["met"] = within(target["value"], target["limit"]);
}

void Record::begin(const std::string& time, const std::string& targets) {
  json_["calls"].push_back(time);
  json_["targets"] = Json::array();
  std::istringstream lines(targets);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() != 4)
      throw Error(Category::usage, "target '" + line + "': name|limit|unit|meaning is wanted");
    within(0.0, parts[1]);
    Json target = {{"name", parts[0]}, {"meaning", parts[3]}, {"limit", parts[1]},
                   {"unit", parts[2]}, {"value", nullptr},    {"met", nullptr}};
    set_target(target);
    json_["targets"].push_back(std::move(target));
  }
}

void Record::set_fact(const std::string& name, const std::string& value) {
  if (value.empty()) {
    json_["machine"].erase(name);
  } else {
    json_["machine"][name] = value;
  }
}

void Record::set_figure(const std::string& name, const std::string& value, const std::string& unit) {
  Json figure = {{"name", name}, {"value", number(value)}, {"unit", unit}};
  if (auto* earlier = find_named(json_["figures"], name)) {
    *earlier = std::move(figure);
  } else {
    json_["figures"].push_back(std::move(figure));
  }
  if (auto* target = find_named(json_["targets"], name)) set_target(*target);
}

void Record::set_quotient(const std::string& name, const std::string& over, const std::string& under) {
  const auto* dividend = find_named(json_["figures"], over);
  const auto* divisor = find_named(json_["figures"], under);
  if (dividend == nullptr || divisor == nullptr || (*divisor)["value"] == 0.0) return;
  const double quotient = (*dividend)["value"].get<double>() / (*divisor)["value"].get<double>();
  std::ostringstream text;
  text.precision(4);
  text << quotient;
  set_figure(name, text.str());
}

void Record::begin_stage(const std::string& name) {
  Json& stages = json_["stages"];
  for (std::size_t i = stages.size(); i-- > 0;) {
    if (stages[i]["name"] == name) stages.erase(i);
  }
  stages.push_back({{"name", name},
                    {"result", "unfinished"},
                    {"seconds", 0.0},
                    {"reason", "the check ended in this stage"},
                    {"cases", Json::array()}});
}

Json& Record::last_stage() {
  if (json_["stages"].empty()) throw Error(Category::usage, "no stage has begun");
  return json_["stages"].back();
}

void Record::add_case(const std::string& name, const std::string& result, const std::string& seconds,
                      const std::string& reason) {
  last_stage()["cases"].push_back(
      {{"name", name}, {"result", result_of(result)}, {"seconds", number(seconds)}, {"reason", reason}});
}

void Record::end_stage(const std::string& result, const std::string& seconds, const std::string& reason) {
  Json& stage = last_stage();
  stage["result"] = result_of(result);
  stage["seconds"] = number(seconds);
  stage["reason"] = reason;
}

std::optional<std::string> Record::find(const std::string& name) const {
  const Json& machine = json_["machine"];
  if (const auto fact = machine.find(name); fact != machine.end()) return fact->get<std::string>();
  if (const auto* figure = find_named(json_["figures"], name)) return (*figure)["value"].dump();
  return {};
}

}  // namespace lockstep::check
