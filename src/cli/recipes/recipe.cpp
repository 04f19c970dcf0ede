#include "cli/recipes/recipe.h"

#include <algorithm>
#include <string_view>

namespace lockstep {

std::string Recipe::purpose() const {
  const std::string_view all = text;
  constexpr std::string_view mark = "# ";
  return std::string(all.substr(mark.size(), all.find('\n') - mark.size()));
}

const char* recipe_text(const std::string& name) {
  const auto found = std::ranges::find(recipes(), name, &Recipe::name);
  return found == recipes().end() ? nullptr : found->text;
}

}  // namespace lockstep
