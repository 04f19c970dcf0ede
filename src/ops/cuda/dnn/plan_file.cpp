#include "ops/cuda/dnn/plan_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

using nlohmann::json;

constexpr const char* format_name = "lockstep plans 1";
/// Maximum size of a file. A problem takes about 200 bytes.
constexpr std::size_t max_bytes = std::size_t{16} << 20;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw Error(Category::data,
              path.string() + ": invalid file of plans: " + reason + "; remove it to choose engines again");
}

std::string read_plans(const std::filesystem::path& path) {
  std::string text = read_text(path, max_bytes + 1);
  if (text.size() > max_bytes) refuse(path, fmt::format("longer than {} MiB", max_bytes >> 20));
  return text;
}

/// Member `name` of an object. Refuses types other than `type`.
const json& member(const json& object, const char* name, json::value_t type,
                   const std::filesystem::path& path) {
  const auto found = object.find(name);
  if (found == object.end() || found->type() != type) {
    refuse(path, fmt::format("\"{}\" is missing or of another type", name));
  }
  return *found;
}

EngineChoice choice_of(const json& value, const std::string& problem, const std::filesystem::path& path) {
  if (!value.is_object()) refuse(path, "\"" + printable(problem) + "\" is not an object");
  EngineChoice choice{.engine = member(value, "engine", json::value_t::string, path)};
  if (const auto time = value.find("microseconds"); time != value.end()) {
    if (!time->is_number() || time->get<double>() < 0.0) {
      refuse(path, "\"microseconds\" of \"" + printable(problem) + "\" is not a time");
    }
    choice.microseconds = time->get<double>();
  }
  return choice;
}

}  // namespace

PlanFile::PlanFile(std::filesystem::path path, std::string where)
    : path_(std::move(path)), where_(std::move(where)) {
  if (!path_.empty() && file_kind(path_) != FileKind::missing) add(read_plans(path_));
}

void PlanFile::add(const std::string& text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) refuse(path_, "it is not JSON");
  if (!document.is_object() || document.value("format", json()) != format_name) {
    refuse(path_, fmt::format("\"format\" is not \"{}\"", format_name));
  }
  for (const auto& [where_found, problems] :
       member(document, "engines", json::value_t::object, path_).items()) {
    if (!problems.is_object()) refuse(path_, "\"" + printable(where_found) + "\" is not an object");
    for (const auto& [problem, choice] : problems.items()) {
      engines_[where_found][problem] = choice_of(choice, problem, path_);
    }
  }
}

std::optional<EngineChoice> PlanFile::find(const std::string& problem) const {
  const auto here = engines_.find(where_);
  if (here == engines_.end()) return std::nullopt;
  const auto found = here->second.find(problem);
  return found == here->second.end() ? std::nullopt : std::optional(found->second);
}

void PlanFile::set(const std::string& problem, const EngineChoice& choice) {
  engines_[where_][problem] = choice;
}

std::string PlanFile::text() const {
  json document{{"format", format_name}, {"engines", json::object()}};
  for (const auto& [where, problems] : engines_) {
    for (const auto& [problem, choice] : problems) {
      json& value = document["engines"][where][problem];
      value["engine"] = choice.engine;
      if (choice.microseconds > 0.0) value["microseconds"] = choice.microseconds;
    }
  }
  return document.dump(1) + "\n";
}

void PlanFile::save() const { write_text_file(path_, text()); }

}  // namespace lockstep::cuda
