add_executable(open_dataset_processes data/open_dataset_processes.cpp)
target_include_directories(open_dataset_processes PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(open_dataset_processes PRIVATE lockstep_library lockstep_dependencies)
foreach(ranks 1 2 3)
  lockstep_process_test(open_dataset_on_${ranks}_ranks ${mpi_run} ${ranks} $<TARGET_FILE:open_dataset_processes>
                        ${CMAKE_CURRENT_BINARY_DIR}/open_dataset_${ranks})
endforeach()
