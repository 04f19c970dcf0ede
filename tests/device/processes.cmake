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
