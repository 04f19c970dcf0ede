# Precompiles the largest headers that most sources of a target include, which halves the build time. Sources still
# include every header that they use; -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON checks this.
function(lockstep_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <fmt/format.h> <functional> <map> <memory> <optional> <span> <string> <vector> ${ARGN})
endfunction()
