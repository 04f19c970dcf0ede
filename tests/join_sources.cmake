# Joins sources of tests into one file, which compiles in less time than they do: it includes a copy of each, in which
# the anonymous namespace is in a namespace of its own. Lines keep their numbers. Run as:
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
