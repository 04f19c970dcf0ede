# Checks that an include only points to a lower layer. A folder of src/ is a layer. Run as:
#   cmake -D ROOT=<repository> -P layering.cmake
#
# Levels from the lowest to the highest; layers of one level do not include each other. Public headers (lockstep/...)
# may be included by all layers, and include only each other and the system. Everything else is included with <>.
# docs/draw_design.py reads this list too.
set(levels
  core
  device
  watch
  comm
  data
  gradient
  graph
  "ops models optim"
  run
  onnx
  train
  cli)

set(level 0)
foreach(row IN LISTS levels)
  string(REPLACE " " ";" layers "${row}")
  foreach(layer IN LISTS layers)
    set(level_of_${layer} ${level})
  endforeach()
  math(EXPR level "${level} + 1")
endforeach()

# check(<file> <layer> <path>): checks one quoted include.
function(check file layer included)
  string(REGEX REPLACE "/.*" "" target "${included}")
  if(target STREQUAL "lockstep" OR target STREQUAL layer)
    return()
  elseif(layer STREQUAL "lockstep")
    set(reason "public headers include public headers only")
  elseif(NOT DEFINED level_of_${target})
    set(reason "no layer of that name; write paths from src/ on, and other libraries with <>")
  elseif(level_of_${target} LESS level_of_${layer})
    return()
  else()
    set(reason "${layer} may not include ${target}")
  endif()
  message(SEND_ERROR "${file}: \"${included}\": ${reason}")
endfunction()

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/*.h ${ROOT}/src/*.cpp ${ROOT}/src/*.cu ${ROOT}/src/*.cuh
     ${ROOT}/include/*.h)
list(LENGTH files count)
if(count EQUAL 0)
  message(FATAL_ERROR "no sources under ${ROOT}")
endif()
foreach(file IN LISTS files)
  string(REGEX REPLACE "^[^/]*/([^/]*)/.*" "\\1" layer "${file}")
  if(NOT layer STREQUAL "lockstep" AND NOT DEFINED level_of_${layer})
    message(SEND_ERROR "${file}: ${layer} is not a layer; add it to tests/layering.cmake")
    continue()
  endif()
  # Other sources are also compiled for the host, by tests and in builds without CUDA.
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*<(cuda|cudnn|cublas|nccl)")
  if(lines AND NOT file MATCHES "/(native|nccl)/")
    message(SEND_ERROR "${file}: ${lines}: headers of CUDA's libraries are for cuda/native and nccl")
  endif()
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" included "${line}")
    check("${file}" "${layer}" "${included}")
  endforeach()
endforeach()
message(STATUS "${count} files")
