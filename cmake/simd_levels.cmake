# Compiles the sources in the folders `kernels` of src/ops/cpu once per instruction set (level); amx replaces only some
# kernels of avx512. LOCKSTEP_LEVEL names the namespace, and the program chooses a level at start. These sources contain
# only arithmetic, because the linker could keep a library's inline function that was compiled for a level that the
# machine does not have. Definitions of `target`, and of targets with lockstep_level_definitions, name the levels that
# there are (src/ops/cpu/kernels/table.h). The variable lockstep_kernels lists the objects.
function(lockstep_add_simd_levels target)
  file(GLOB_RECURSE kernels RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS src/ops/cpu/*.cpp)
  list(FILTER kernels INCLUDE REGEX "/kernels/")
  list(TRANSFORM kernels PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  if(NOT kernels)
    return()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(levels ${LOCKSTEP_X86_LEVELS})
    set(avx2_flags -march=x86-64-v3 -maes -mpclmul)
    set(avx512_flags -march=x86-64-v4 -maes -mpclmul)
    if(avx512 IN_LIST levels)
      list(APPEND levels amx)
      set(amx_flags ${avx512_flags} -mamx-tile -mamx-bf16 -mavx512bf16)
    endif()
  else()
    set(levels neon)
    set(neon_flags -march=armv8-a+crypto)  # Highway's NEON has AES, which no kernel uses
  endif()
  foreach(level ${levels})
    set(sources ${kernels})
    if(level STREQUAL "amx")
      list(FILTER sources INCLUDE REGEX "/bf16_product[.]cpp$")
    endif()
    add_library(lockstep_kernels_${level} OBJECT ${sources})
    set_target_properties(lockstep_kernels_${level} PROPERTIES UNITY_BUILD OFF)
    target_include_directories(lockstep_kernels_${level} PRIVATE include src)
    target_link_libraries(lockstep_kernels_${level} PRIVATE PkgConfig::highway)
    target_compile_definitions(lockstep_kernels_${level} PRIVATE LOCKSTEP_LEVEL=${level} HWY_COMPILE_ONLY_STATIC)
    # GCC 12 warns about the undefined operand of its own AVX-512 intrinsics (bug 105593).
    target_compile_options(lockstep_kernels_${level} PRIVATE ${${level}_flags} $<$<CONFIG:Debug>:-O1>
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
    if(LOCKSTEP_SANITIZE)
      # Checks for pointers that wrap around take two thirds of the time to compile unrolled loops. The address
      # sanitizer detects accesses through pointers that have wrapped around.
      target_compile_options(lockstep_kernels_${level} PRIVATE -fno-sanitize=pointer-overflow)
    endif()
    if(NOT level STREQUAL "amx")  # a precompiled header does not pay for one source
      target_precompile_headers(lockstep_kernels_${level} PRIVATE <hwy/highway.h>)
    endif()
    list(APPEND targets lockstep_kernels_${level})
    list(APPEND objects $<TARGET_OBJECTS:lockstep_kernels_${level}>)
    string(TOUPPER ${level} upper)
    list(APPEND definitions LOCKSTEP_HAS_${upper})
  endforeach()
  target_compile_definitions(${target} PRIVATE ${definitions})
  set(lockstep_level_definitions ${definitions} PARENT_SCOPE)
  set(lockstep_kernel_targets ${targets} PARENT_SCOPE)

  # Integer loops of the data layer are compiled once, for the lowest level, which the program needs anyway.
  file(GLOB_RECURSE loops CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/data/*/kernels/*.cpp)
  list(GET levels 0 lowest)
  add_library(lockstep_data_kernels OBJECT ${loops})
  set_target_properties(lockstep_data_kernels PROPERTIES UNITY_BUILD OFF)
  target_include_directories(lockstep_data_kernels PRIVATE src)
  target_link_libraries(lockstep_data_kernels PRIVATE PkgConfig::highway)
  target_compile_definitions(lockstep_data_kernels PRIVATE HWY_COMPILE_ONLY_STATIC)
  target_compile_options(lockstep_data_kernels PRIVATE ${${lowest}_flags} $<$<CONFIG:Debug>:-O1>)
  set(lockstep_kernels ${objects} $<TARGET_OBJECTS:lockstep_data_kernels> PARENT_SCOPE)
endfunction()
