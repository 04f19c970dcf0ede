#include "core/options/check.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

/// Why `requirement` does not hold, as the end of a sentence; empty where it does.
std::string why_not(const std::vector<OptionText>& texts, const Requirement& requirement) {
  const auto is_meant = [&](const OptionText& text) {
    return std::string_view(text.field.name) == requirement.option;
  };
  const auto found = std::ranges::find_if(texts, is_meant);
  if (found == texts.end()) return "";
  if (requirement.values.empty()) {
    return found->is_default() ? fmt::format("without {}", requirement.option) : "";
  }
  const bool holds = std::ranges::find(requirement.values, found->value) != requirement.values.end();
  return holds ? "" : fmt::format("with {} {}", requirement.option, found->value);
}

}  // namespace

void check_needs(const std::vector<OptionText>& texts) {
  for (const OptionText& text : texts) {
    if (text.is_default()) continue;
    for (const Requirement& requirement : text.field.needs) {
      const std::string reason = why_not(texts, requirement);
      if (reason.empty()) continue;
      throw Error(Category::usage, fmt::format("has no effect {}: omit it", reason), text.field.name);
    }
  }
}

std::vector<Line> lines_to_compare(const std::vector<OptionText>& texts) {
  std::vector<Line> lines;
  for (const auto& [field, value, default_value] : texts) {
    if (field.scope == Scope::local) continue;
    const bool is_file = field.scope == Scope::file;
    lines.push_back({field.name, !is_file ? value : value.empty() ? "no file" : "a file"});
  }
  return lines;
}

}  // namespace lockstep
