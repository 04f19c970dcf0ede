# The CUDA backend. Its folders, in the layers that have one:
#   cuda/         plans and kernels, without CUDA's headers, so that tests compile and run them on the host, too. A .cu
#                 source with an operation's plan and kernels is compiled like the sources in cuda/kernels
#   cuda/kernels  .cu sources: arithmetic, compiled by nvcc for the GPU and by the host's compiler for tests
#   cuda/native   calls of CUDA and cuDNN
#   nccl/         calls of NCCL, through functions that tests replace
#   no_cuda/      the same functions for builds without CUDA: they report the reason
# cuDNN and NCCL are opened when first needed, and CUDA's runtime is linked statically, so the program also starts
# without them.
set(LOCKSTEP_CUDA AUTO CACHE STRING "CUDA backend: AUTO (if everything it needs is found), ON or OFF")
set(LOCKSTEP_CUDNN_FRONTEND_DIR "" CACHE PATH "Folder with cudnn_frontend.h, if CMake does not find it")
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
endif()

function(lockstep_find_cuda missing)
  set(${missing} "" PARENT_SCOPE)
  if(LOCKSTEP_CUDA STREQUAL "OFF")
    set(${missing} "LOCKSTEP_CUDA=OFF" PARENT_SCOPE)
    return()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(${missing} "nvcc not found" PARENT_SCOPE)
    return()
  endif()
  get_filename_component(toolkit ${CMAKE_CUDA_COMPILER} DIRECTORY)
  find_path(LOCKSTEP_CUDNN_INCLUDE cudnn.h HINTS ${toolkit}/../include)
  find_path(LOCKSTEP_NCCL_INCLUDE nccl.h HINTS ${toolkit}/../include)
  find_path(LOCKSTEP_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
            HINTS ${LOCKSTEP_CUDNN_FRONTEND_DIR} ${PROJECT_SOURCE_DIR}/build/cudnn-frontend/include)
  foreach(header cudnn nccl cudnn_frontend)
    string(TOUPPER ${header} name)
    if(NOT LOCKSTEP_${name}_INCLUDE)
      set(${missing} "${header}.h not found" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(backend_layers device comm data gradient ops optim train)
# lockstep_glob_backend(<result> <pattern>): sources of all layers whose paths in this tree match a regular expression.
function(lockstep_glob_backend result pattern)
  set(all)
  foreach(layer ${backend_layers})
    file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
         ${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp ${PROJECT_SOURCE_DIR}/src/${layer}/*.cu)
    list(APPEND all ${found})
  endforeach()
  list(FILTER all INCLUDE REGEX "${pattern}")
  list(TRANSFORM all PREPEND ${PROJECT_SOURCE_DIR}/)
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# lockstep_join_cuda(<result> <name> <source>...): lists the files that nvcc compiles. In unity builds, each joins five
# sources, because headers take longer to compile than most sources. CMake 3.25 does not join CUDA sources itself.
function(lockstep_join_cuda result name)
  set(sources ${ARGN})
  set(units)
  while(CMAKE_UNITY_BUILD AND sources)
    list(LENGTH units index)
    set(text)
    foreach(unused RANGE 1 5)
      if(sources)
        list(POP_FRONT sources source)
        string(APPEND text "#include \"${source}\"\n")
      endif()
    endforeach()
    set(unit ${PROJECT_BINARY_DIR}/joined/${name}_${index}.cu)
    file(GENERATE OUTPUT ${unit} CONTENT "${text}")
    set_source_files_properties(${unit} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    list(APPEND units ${unit})
  endwhile()
  set(${result} ${units} ${sources} PARENT_SCOPE)
endfunction()

# Joined separately, because kernels and the sources of operations have names in common.
lockstep_glob_backend(kernel_sources "/cuda/kernels/.*[.]cu$")
lockstep_glob_backend(operation_sources "/cuda/(dnn/)?[^/]*[.]cu$")
lockstep_join_cuda(kernel_units kernels ${kernel_sources})
lockstep_join_cuda(operation_units operations ${operation_sources})
set(lockstep_cuda_units ${kernel_units} ${operation_units})

lockstep_find_cuda(lockstep_cuda_missing)
if(lockstep_cuda_missing)
  if(LOCKSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LOCKSTEP_CUDA=ON, but ${lockstep_cuda_missing}")
  endif()
  set(lockstep_backend lockstep_no_cuda)
  message(STATUS "  CUDA                    off: ${lockstep_cuda_missing}")
  lockstep_glob_backend(backend_sources "/no_cuda/")
  add_library(lockstep_no_cuda OBJECT ${backend_sources})
  target_include_directories(lockstep_no_cuda PRIVATE include src)
  target_compile_definitions(lockstep_no_cuda PRIVATE LOCKSTEP_CUDA_MISSING="${lockstep_cuda_missing}")
  target_link_libraries(lockstep_no_cuda PRIVATE lockstep_dependencies)
  lockstep_precompile(lockstep_no_cuda)
  add_library(lockstep_no_cuda_libraries INTERFACE)
else()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(lockstep_backend lockstep_cuda)
  message(STATUS "  CUDA                    ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
  lockstep_glob_backend(backend_sources "/cuda/(dnn/)?[^/]*[.]cpp$")
  lockstep_glob_backend(native_sources "/cuda/(dnn/)?native/")
  lockstep_glob_backend(nccl_sources "/comm/nccl/")
  add_library(lockstep_cuda OBJECT ${backend_sources} ${native_sources} ${nccl_sources} ${lockstep_cuda_units})
  # The templates of cudnn-frontend describe operations before the first step; -O3 would take minutes.
  set_source_files_properties(src/ops/cuda/dnn/native/cudnn_graph.cpp PROPERTIES COMPILE_OPTIONS
    "$<$<CONFIG:Release>:-O1>" SKIP_UNITY_BUILD_INCLUSION ON)
  # CMake 3.25 supports CUDA standards up to 17.
  target_compile_options(lockstep_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  target_include_directories(lockstep_cuda PRIVATE include src)
  target_include_directories(lockstep_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${LOCKSTEP_CUDNN_INCLUDE}
    ${LOCKSTEP_NCCL_INCLUDE} ${LOCKSTEP_CUDNN_FRONTEND_INCLUDE})
  target_compile_definitions(lockstep_cuda PRIVATE NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING)
  target_link_libraries(lockstep_cuda PRIVATE lockstep_dependencies)
  add_library(lockstep_cuda_libraries INTERFACE)
  target_link_libraries(lockstep_cuda_libraries INTERFACE CUDA::cudart_static ${CMAKE_DL_LIBS})
endif()
