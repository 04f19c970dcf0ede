# Asks cuDNN for plans from a GPU's description. Invalid files replace the NVRTC libraries, so that cuDNN cannot compile
# further engines.
if(lockstep_backend STREQUAL "lockstep_cuda")
  add_executable(cuda_plans_test ops/cuda_native/plans_test.cpp)
  target_include_directories(cuda_plans_test PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(cuda_plans_test PRIVATE lockstep_library lockstep_dependencies GTest::gtest GTest::gtest_main)
  target_compile_definitions(cuda_plans_test PRIVATE LOCKSTEP_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
  target_precompile_headers(cuda_plans_test REUSE_FROM core_test)
  add_dependencies(unit_tests cuda_plans_test)

  set(libraries ${CMAKE_CURRENT_BINARY_DIR}/cuda_plans)
  foreach(name libnvrtc.so libnvrtc.so.12 libnvrtc.so.13)
    file(WRITE ${libraries}/no_nvrtc/${name} "no library")
  endforeach()
  add_test(NAME cuda_plans COMMAND cuda_plans_test)
  set_tests_properties(cuda_plans PROPERTIES TIMEOUT 600 LABELS unit
    ENVIRONMENT "LD_LIBRARY_PATH=${libraries}/no_nvrtc:$ENV{LD_LIBRARY_PATH}")

  file(WRITE ${libraries}/broken/libcudnn.so.9 "no library")
  add_test(NAME cuda_plans_without_cudnn
    COMMAND cuda_plans_test --gtest_filter=WithoutCudnn.* --gtest_also_run_disabled_tests)
  set_tests_properties(cuda_plans_without_cudnn PROPERTIES TIMEOUT 60 LABELS unit
    ENVIRONMENT "LD_LIBRARY_PATH=${libraries}/broken")
endif()
