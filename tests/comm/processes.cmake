# Runs in which one rank fails.
add_executable(failures_mpi comm/failures_mpi.cpp)
target_include_directories(failures_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(failures_mpi PRIVATE lockstep_library lockstep_dependencies)

# MPICH's mpiexec exits with a signal number or the bitwise OR of all ranks' statuses. If a rank exits with status 0
# before the others, mpiexec sometimes loses their statuses (4.0.2).
if(mpich)
  set(any_status "[1-9][0-9]*")
  set(any_status_beside_0 "[0-9]+")
  set(keep_ranks -disable-auto-cleanup)
elseif(open_mpi_4)
  set(keep_ranks --mca orte_allowed_exit_without_sync 1)
else()
  set(keep_ranks --prtemca prte_allowed_exit_without_sync 1)
endif()

# lockstep_failure_test(<how> <transport> <status> <error> <mpirun's option>...)
function(lockstep_failure_test how transport status error)
  if(any_status AND how MATCHES "^(leave|announced)$")
    set(status ${any_status_beside_0})
  elseif(any_status)
    set(status ${any_status})
  endif()
  set(command ${mpi_run} 3 ${ARGN} ${emulator} $<TARGET_FILE:failures_mpi> ${how} ${transport})
  string(JOIN "," command ${command})  # one argument, a list again in the script
  set(expected -D "STATUS=${status}")
  if(error)
    list(APPEND expected -D "ERROR=${error}")
  endif()
  if(error MATCHES "on host")
    list(APPEND expected -D "REPORT=\"rank\": 1.*\"collective\": \"barrier\"")
  endif()
  lockstep_process_test(comm_${how}_${transport} ${CMAKE_COMMAND} ${expected} "-DCOMMAND=${command}"
                        -P ${CMAKE_CURRENT_SOURCE_DIR}/comm/expect_failure.cmake)
endfunction()

set(from_rank_1 "rank 1 on .*: labels.gz: cut short")
set(in_barrier "ranks 0, 2 wait in it for [1-9][0-9]* s")
foreach(transport shared-memory messages)
  lockstep_failure_test(throw ${transport} 3 ${from_rank_1})
  lockstep_failure_test(alone ${transport} 3 ${from_rank_1})
  lockstep_failure_test(agreed ${transport} 3 ${from_rank_1})
  lockstep_failure_test(kill ${transport} 137 "")
  # The launcher ignores the missing rank; the other ranks must notice it.
  lockstep_failure_test(leave ${transport} 5
    "rank 1 on host .* [(]process [0-9]+[)] (exited for an unknown reason|has ended with status 0) [(]step 2, "
    ${keep_ranks})
  # The watchdog kills the rank, or the rank exits; whichever is first sets the status.
  lockstep_failure_test(stop ${transport} "5|137"
    "rank 1 on host .* stopped before barrier [0-9]+ .*is stopped, as by SIGSTOP.*${in_barrier}")
  lockstep_failure_test(loop ${transport} "5|137"
    "rank 1 on host .* stopped before barrier [0-9]+ [(]step 2, .* computes.*${in_barrier}")
endforeach()
lockstep_failure_test(second messages 2 "rank 0 on .*: MPI was started before: a process has one World")
lockstep_failure_test(transfer messages "5|137"
  "ranks 1, 2 stopped before gather [0-9]+ .*is stopped, as by SIGSTOP.*rank 0 waits in it for [1-9][0-9]* s")
lockstep_failure_test(different shared-memory "5|137" "rank 1 on host .* entered agree [0-9]+ .*but ranks 0, 2 entered")
lockstep_failure_test(together messages 137 none)
lockstep_failure_test(announced messages 5 none ${keep_ranks})
# mpirun may then hang and be killed by the watchdog, or crash in PMIx_server_finalize (4.1.4, on a busy machine).
lockstep_failure_test(finish messages "5|137|Subprocess killed|Segmentation fault" "rank 1 on host .* entered MPI_Finalize [0-9]+ .*but ranks 0, 2 entered")
