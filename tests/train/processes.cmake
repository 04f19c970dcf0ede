# Compares the program with PyTorch's recorded losses.
add_executable(replay_test train/replay/replay_test.cpp support/run.cpp)
target_include_directories(replay_test PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(replay_test PRIVATE lockstep_library lockstep_dependencies GTest::gtest GTest::gtest_main)
target_compile_definitions(replay_test PRIVATE LOCKSTEP_PROGRAM="$<TARGET_FILE:lockstep>"
  LOCKSTEP_MPIEXEC="${MPIEXEC_EXECUTABLE}" LOCKSTEP_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
add_dependencies(replay_test lockstep)
add_test(NAME replay COMMAND replay_test)
set_tests_properties(replay PROPERTIES TIMEOUT 300 LABELS program)
