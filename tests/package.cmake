# Checks that a program outside the source tree can use the library in each way that README.md names. Run as:
#   cmake -D ROOT=<source tree> -D BUILD=<its build> -D GENERATOR=... -D COMPILER=<of C++> -P package.cmake
string(RANDOM LENGTH 12 name)
set(temporary $ENV{TMPDIR})
if(NOT temporary)
  set(temporary /tmp)
endif()
set(folder ${temporary}/lockstep-package-${name})
set(prefix ${folder}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    file(REMOVE_RECURSE ${folder})
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nends with ${status}:\n${output}")
  endif()
endfunction()
function(configure source build)
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER} ${ARGN})
endfunction()

file(MAKE_DIRECTORY ${folder})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
foreach(file man/man1/lockstep.1 man/man1/lockstep-train.1 man/man1/lockstep-data-pack.1 man/man1/lockstep-run.1
             bash-completion/completions/lockstep-run zsh/site-functions/_lockstep)
  if(NOT EXISTS ${prefix}/share/${file})
    message(FATAL_ERROR "cmake --install does not write share/${file}")
  endif()
endforeach()
file(COPY ${ROOT}/examples DESTINATION ${folder})

# find_package(lockstep), with the examples as a separate project
configure(examples build -D CMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build build --parallel 2)
foreach(example train_lenet from_scratch)
  run(build/${example} 0)
endforeach()

# find_package(lockstep) must not change the caller's variables.
file(WRITE ${folder}/caller/CMakeLists.txt [[
cmake_minimum_required(VERSION 3.22)
project(caller LANGUAGES CXX)
foreach(variable name module library languages)
  set(${variable} own)
endforeach()
find_package(lockstep REQUIRED)
foreach(variable name module library languages)
  if(NOT "${${variable}}" STREQUAL own)
    message(FATAL_ERROR "find_package(lockstep) sets ${variable} to '${${variable}}'")
  endif()
endforeach()
]])
configure(caller build-caller -D CMAKE_PREFIX_PATH=${prefix})

# pkg-config
file(WRITE ${folder}/compile.sh "set -e
export PKG_CONFIG_PATH=${prefix}/lib/pkgconfig
'${COMPILER}' -std=c++20 examples/train_lenet.cpp -o by_pkg_config $(pkg-config --cflags --libs lockstep)
./by_pkg_config 0\n")
run(sh compile.sh)

# add_subdirectory: only configures, which finds every linked library. Folders above the tree have the same names as
# folders in it.
file(MAKE_DIRECTORY ${folder}/src/cuda)
file(CREATE_LINK ${ROOT} ${folder}/src/cuda/kernels SYMBOLIC)
file(WRITE ${folder}/part/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C CXX)
add_subdirectory(../src/cuda/kernels lockstep)
get_target_property(sources lockstep_objects SOURCES)
if(NOT sources MATCHES src/core/json/json.cpp)
  message(FATAL_ERROR \"lockstep_objects has no sources\")
endif()
if(CMAKE_BUILD_TYPE)
  message(FATAL_ERROR \"lockstep sets the build type of the whole project to \${CMAKE_BUILD_TYPE}\")
endif()
get_target_property(options lockstep_objects COMPILE_OPTIONS)
if(NOT options MATCHES -O3)
  message(FATAL_ERROR \"without a build type, lockstep is compiled with '\${options}'\")
endif()
add_executable(program ../examples/train_lenet.cpp)
target_link_libraries(program PRIVATE lockstep::lockstep)\n")
configure(part build-part -D LOCKSTEP_CUDA=OFF -D CMAKE_BUILD_TYPE=)

file(REMOVE_RECURSE ${folder})
