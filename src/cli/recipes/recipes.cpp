#include "cli/recipes/recipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/commands.h"

namespace lockstep {
namespace {

struct RecipesOptions {
  std::string name;
};

Names recipe_names() {
  Names names;
  for (const Recipe& recipe : recipes()) names.emplace_back(recipe.name);
  return names;
}

OptionSet option_set(RecipesOptions& options) {
  OptionSet set("lockstep recipes [NAME]",
                "Lists the recipes for lockstep train --recipe, or prints one: a configuration file, which "
                "can be changed and given to lockstep train --config. The commands in its comments are for "
                "the source tree; elsewhere, --recipe NAME stands for --config recipes/NAME.cfg, and "
                "lockstep-run for launcher/lockstep-run.");
  set.optional_positional("NAME", "recipe to print", options.name, "recipe", recipe_names());
  set.epilogue("Example, a recipe of your own:\n  lockstep recipes photos > mine.cfg\n");
  return set;
}

int print_recipes(const RecipesOptions& options) {
  if (!options.name.empty()) return print_help(recipe_text(options.name));
  std::string list;
  for (const Recipe& recipe : recipes()) list += fmt::format("{:<17} {}\n", recipe.name, recipe.purpose());
  return print_help(list);
}

}  // namespace

std::string Recipe::purpose() const {
  const std::string_view all = text;
  constexpr std::string_view mark = "# ";
  return std::string(all.substr(mark.size(), all.find('\n') - mark.size()));
}

const char* recipe_text(const std::string& name) {
  const auto found = std::ranges::find(recipes(), name, &Recipe::name);
  return found == recipes().end() ? nullptr : found->text;
}

constinit const Command recipes_command = command_of_one_process<RecipesOptions, option_set, print_recipes>(
    "recipes", "list or print the recipes for training");

}  // namespace lockstep
