#pragma once

#include <span>
#include <string>

namespace lockstep {

/// A file of the folder recipes/, compiled into the program.
struct Recipe {
  const char* name;  ///< without .cfg
  const char* text;  ///< configuration file; its first line is a comment, one sentence with the purpose

  std::string purpose() const;
};

/// All recipes, by name. cmake/recipes.cmake generates this function.
std::span<const Recipe> recipes();

/// Text of the recipe `name`; null: there is no such recipe.
const char* recipe_text(const std::string& name);

}  // namespace lockstep
