add_executable(open_dataset_processes data/open_dataset_processes.cpp)
target_include_directories(open_dataset_processes PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(open_dataset_processes PRIVATE lockstep_library lockstep_dependencies)
foreach(ranks 1 2 3)
  add_test(NAME open_dataset_on_${ranks}_ranks
    COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe ${MPIEXEC_NUMPROC_FLAG} ${ranks}
      $<TARGET_FILE:open_dataset_processes> ${CMAKE_CURRENT_BINARY_DIR}/open_dataset_${ranks})
  set_tests_properties(open_dataset_on_${ranks}_ranks PROPERTIES TIMEOUT 60 LABELS processes
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
endforeach()
