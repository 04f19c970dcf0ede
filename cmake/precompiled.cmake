# Parses the heaviest of the headers that most sources of a target include once instead of once per source; it
# halves the build. Sources still include what they use; -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON proves it.
function(lockstep_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <fmt/format.h> <functional> <map> <memory> <optional> <span> <string> <vector> ${ARGN})
endfunction()
