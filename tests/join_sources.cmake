# Joins test sources into one file, which compiles faster than separate files. It includes a copy of each source with
# the anonymous namespace nested in a unique namespace. Line numbers stay the same. Run as:
#   cmake -D OUTPUT=<file>.cpp -D "SOURCES=<file>;..." -P join_sources.cmake
string(REGEX REPLACE "[.]cpp$" "" folder ${OUTPUT})
set(includes "")
foreach(source IN LISTS SOURCES)
  file(RELATIVE_PATH name ${CMAKE_CURRENT_LIST_DIR} ${source})
  string(MAKE_C_IDENTIFIER ${name} name)
  file(READ ${source} text)
  string(REPLACE "\nnamespace {\n" "\nnamespace ${name} { namespace {\n" text "${text}")
  string(REPLACE "\n}  // namespace\n" "\n}}  // namespace\n" text "${text}")
  file(WRITE ${folder}/${name}.cpp "#line 1 \"${source}\"\n${text}")
  string(APPEND includes "#include \"${folder}/${name}.cpp\"\n")
endforeach()
file(WRITE ${OUTPUT} "${includes}")
