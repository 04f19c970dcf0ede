option(LOCKSTEP_TESTS "Build the tests" OFF)
option(LOCKSTEP_FUZZ "Build the fuzz targets (needs clang)" OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers for all targets: empty, address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Flags of every target. No fast-math, no contraction: arithmetic has one defined order (docs/same-bits.md).
add_library(lockstep_settings INTERFACE)
target_compile_features(lockstep_settings INTERFACE cxx_std_20)
target_compile_options(lockstep_settings INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(LOCKSTEP_TESTS)
  target_compile_options(lockstep_settings INTERFACE -Werror)  # not where a newer compiler meets a user
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12: on std::variant, on additions of std::string (its bug 105651).
  target_compile_options(lockstep_settings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(lockstep_settings INTERFACE -O3)
endif()
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_settings INTERFACE
    -fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lockstep_settings INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()
