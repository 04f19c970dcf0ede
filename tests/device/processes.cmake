# Tests the calls of the driver's management library with a replacement of it; needs no CUDA.
add_library(fake_nvml MODULE device/native/fake_nvml.cpp)
add_executable(nvml_test device/native/nvml_test.cpp ${PROJECT_SOURCE_DIR}/src/device/cuda/native/nvml.cpp
               ${PROJECT_SOURCE_DIR}/src/device/cuda/native/shared_library.cpp)
target_include_directories(nvml_test PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(nvml_test PRIVATE GTest::gtest GTest::gtest_main ${CMAKE_DL_LIBS})
# The replacement declares the library's types itself, because its header need not be installed.
if(LOCKSTEP_SANITIZE)
  target_compile_options(nvml_test PRIVATE -fno-sanitize=function)
endif()
target_compile_definitions(nvml_test PRIVATE LOCKSTEP_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
add_dependencies(nvml_test fake_nvml)
add_dependencies(unit_tests nvml_test)
add_test(NAME nvml COMMAND nvml_test)
set_tests_properties(nvml PROPERTIES TIMEOUT 60 LABELS unit)

# What nvcc makes of the kernels, on two types of GPU: 3 s a source. The second test must find planted faults.
if(lockstep_backend STREQUAL "lockstep_cuda")
  set(check ${CMAKE_COMMAND} -D NVCC=${CMAKE_CUDA_COMPILER} -D ROOT=${PROJECT_SOURCE_DIR})
  set(check_script ${CMAKE_CURRENT_SOURCE_DIR}/device/resources/check.cmake)
  add_test(NAME kernel_resources
    COMMAND ${check} -D FOLDER=${CMAKE_CURRENT_BINARY_DIR}/kernel_resources -P ${check_script})
  add_test(NAME kernel_resources_planted
    COMMAND ${check} -D FOLDER=${CMAKE_CURRENT_BINARY_DIR}/kernel_resources_planted
      -D PLANTED=${CMAKE_CURRENT_SOURCE_DIR}/device/resources/planted.cu -P ${check_script})
  set_tests_properties(kernel_resources kernel_resources_planted PROPERTIES TIMEOUT 900)
endif()
