# Tests of comm and reduce that need real processes.
foreach(program communicator_mpi failures_mpi check_same_mpi)
  add_executable(${program} comm/${program}.cpp)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${program} PRIVATE lockstep_library lockstep_dependencies)
endforeach()

lockstep_process_test(comm_without_mpirun communicator_mpi)
foreach(ranks 1 2 3 4 8)
  lockstep_process_test(comm_${ranks}_ranks ${mpi_run} ${ranks} $<TARGET_FILE:communicator_mpi> ${ranks})
endforeach()

foreach(ranks 1 2 3)
  lockstep_process_test(check_same_${ranks}_ranks ${mpi_run} ${ranks} $<TARGET_FILE:check_same_mpi>)
endforeach()

function(lockstep_failure_test how transport status)
  set(command ${mpi_run} 3 ${ARGN} $<TARGET_FILE:failures_mpi> ${how} ${transport})
  string(JOIN "," command ${command})  # one argument, a list again in the script
  set(expected -D STATUS=${status})
  if(status EQUAL 3)
    list(APPEND expected -D "ERROR=rank 1 on .*: labels.gz: cut short")
  endif()
  lockstep_process_test(comm_${how}_${transport} ${CMAKE_COMMAND} ${expected} "-DCOMMAND=${command}"
                        -P ${CMAKE_CURRENT_SOURCE_DIR}/comm/expect_failure.cmake)
endfunction()

foreach(transport shared-memory messages)
  lockstep_failure_test(throw ${transport} 3)
  lockstep_failure_test(agreed ${transport} 3)
  lockstep_failure_test(kill ${transport} 137)
  # The launcher ignores the missing rank; the other ranks must notice it.
  lockstep_failure_test(leave ${transport} 5 --mca orte_allowed_exit_without_sync 1)
endforeach()
