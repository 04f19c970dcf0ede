option(LOCKSTEP_TESTS "Build the tests" OFF)
set(LOCKSTEP_X86_LEVELS avx2 avx512 CACHE STRING "Instruction sets of the kernels on x86-64, lowest first")
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers for all targets: empty, address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Flags of every target of this tree, but not of programs that link the library. No fast-math and no contraction:
# arithmetic has one defined order (docs/same-bits.md). Without errno, a square root is one instruction.
set(CMAKE_CXX_STANDARD 20)
set(lockstep_kernel_options -fmad=false --extended-lambda --expt-relaxed-constexpr)
set(cxx $<COMPILE_LANGUAGE:C,CXX>)
set(cuda $<COMPILE_LANGUAGE:CUDA>)
add_compile_options(
  "$<${cxx}:-ffp-contract=off;-fno-math-errno;-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>"
  "$<${cuda}:${lockstep_kernel_options};-Xcompiler=-ffp-contract=off,-Wall,-Wextra,-Wshadow>")
if(LOCKSTEP_TESTS)
  # Only in lockstep's own builds with tests: a user's compiler may have other warnings.
  add_compile_options($<${cxx}:-Werror> "$<${cuda}:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 has false positives for std::variant and concatenation of std::string (GCC bug 105651).
  add_compile_options($<${cxx}:-Wno-maybe-uninitialized> $<${cxx}:-Wno-restrict>)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT CMAKE_BUILD_TYPE)  # a parent project may set none
  add_compile_options($<${cxx}:-O3>)
endif()
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
