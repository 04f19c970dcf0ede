#include "core/options/check.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

/// The option called `name`; null if it is not in `texts`.
const OptionText* find(const std::vector<OptionText>& texts, std::string_view name) {
  const auto found =
      std::ranges::find_if(texts, [&](const OptionText& text) { return text.field.name == name; });
  return found == texts.end() ? nullptr : &*found;
}

/// Why `requirement` does not hold, as the end of a sentence; empty if it holds.
std::string why_not(const std::vector<OptionText>& texts, const Requirement& requirement) {
  const OptionText* const found = find(texts, requirement.option);
  if (found == nullptr) return "";
  if (requirement.values.empty()) {
    return found->is_default() ? fmt::format("without --{}", requirement.option) : "";
  }
  const bool holds = std::ranges::find(requirement.values, found->value) != requirement.values.end();
  return holds ? "" : fmt::format("with --{} {}", requirement.option, found->value);
}

}  // namespace

bool has_effect(const std::vector<OptionText>& texts, const OptionText& text) {
  const auto holds = [&](const Requirement& requirement) { return why_not(texts, requirement).empty(); };
  if (!std::ranges::all_of(text.field.needs, holds)) return false;
  const OptionText* const device = *text.field.device == '\0' ? nullptr : find(texts, "device");
  return device == nullptr || device->value == "auto" || device->value == text.field.device;
}

bool affects_result(const std::vector<OptionText>& texts, const OptionText& text) {
  const auto holds = [&](const Requirement& requirement) { return why_not(texts, requirement).empty(); };
  const std::vector<Requirement>& with = text.field.result_with;
  return text.field.scope == Scope::result || (!with.empty() && std::ranges::all_of(with, holds));
}

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
    lines.push_back({field.name, !is_file ? value : value.empty() ? option_not_given : option_given});
  }
  return lines;
}

}  // namespace lockstep
