# Generates the function recipes() of src/cli/recipes/recipes.h, which returns the texts of the files:
#   cmake -D OUTPUT=FILE "-D FILES=recipes/a.cfg;recipes/b.cfg" -P recipes.cmake
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "    {\"${name}\", R\"recipe(${text})recipe\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"cli/recipes/recipes.h\"

namespace lockstep {
namespace {

constexpr Recipe all_recipes[] = {
${rows}};

}  // namespace

std::span<const Recipe> recipes() { return all_recipes; }

}  // namespace lockstep
")
