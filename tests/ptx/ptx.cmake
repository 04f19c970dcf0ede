# Runs the kernels that nvcc compiles without a GPU: tests of the emulated GPU run again, interpret nvcc's PTX for each
# launch, and compare the results with those of the host's code, byte by byte. Every kernel that nvcc compiled must be
# launched.
add_library(lockstep_ptx OBJECT ptx/operations.cpp ptx/parser.cpp ptx/interpreter.cpp)
target_include_directories(lockstep_ptx PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
set(ptx_optimization $<$<NOT:$<CONFIG:Debug>>:-O2>)
target_compile_options(lockstep_ptx PRIVATE ${ptx_optimization})
set_source_files_properties(ptx/comparison.cpp PROPERTIES COMPILE_OPTIONS ${ptx_optimization}
  SKIP_PRECOMPILE_HEADERS ON)
lockstep_unit_test(ptx lockstep_ptx ptx/interpreter_test.cpp)
target_link_libraries(ptx_test PRIVATE lockstep_library)  # lockstep_test_support uses it

if(NOT CMAKE_CUDA_COMPILER OR LOCKSTEP_SANITIZE)
  return()
endif()
set(ptx_folder ${CMAKE_CURRENT_BINARY_DIR}/ptx)
file(MAKE_DIRECTORY ${ptx_folder}/launches)
# lockstep_ptx_of(<source>): adds a rule that compiles <name>.cu to <name>.ptx; appends the file to all_ptx.
macro(lockstep_ptx_of source)
  get_filename_component(name ${source} NAME_WE)
  set(ptx ${ptx_folder}/${name}.ptx)
  add_custom_command(OUTPUT ${ptx} DEPENDS ${source} DEPFILE ${ptx}.d COMMENT "PTX of ${name}.cu" VERBATIM
    COMMAND ${CMAKE_CUDA_COMPILER} -ptx -arch=compute_90 -O3 -DNDEBUG -std=c++20 ${lockstep_kernel_options}
      -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -MD -MF ${ptx}.d -MT ${ptx} -o ${ptx} ${source})
  list(APPEND all_ptx ${ptx})
endmacro()
set(all_ptx)
foreach(source ${lockstep_cuda_units})
  lockstep_ptx_of(${source})
endforeach()
set(kernel_ptx ${all_ptx})
set(planted ${CMAKE_CURRENT_SOURCE_DIR}/ptx/resources/planted.cu)
lockstep_ptx_of(${planted})
add_custom_target(lockstep_kernel_ptx ALL DEPENDS ${all_ptx})

# Checks registers, spills, stack and shared memory of each kernel. The second test must find planted faults.
set(check ${CMAKE_COMMAND} -D PTXAS=${CUDAToolkit_BIN_DIR}/ptxas)
set(check_script ${CMAKE_CURRENT_SOURCE_DIR}/ptx/resources/check.cmake)
add_test(NAME kernel_resources
  COMMAND ${check} -D "PTX=${kernel_ptx}" -D CUBIN=${ptx_folder}/kernels.cubin -P ${check_script})
add_test(NAME kernel_resources_planted
  COMMAND ${check} -D PTX=${ptx_folder}/planted.ptx -D CUBIN=${ptx_folder}/planted.cubin -D PLANTED=${planted}
    -P ${check_script})

# Tests to run on the interpreter, chosen so that each kernel runs; all tests would take too long.
set(ptx_filter_of_ops --gtest_filter=-CudaPlan.SaysWhichGradientsAreWritten)
string(JOIN ":" ptx_filter_of_train --gtest_filter=CudaTrainer.FollowsTheCpuWithEverythingElse
  CudaTrainer.FollowsTheCpuWithAugmentationOnTheGpu CudaTrainer.SavesWhatItEvaluates Feed.*
  PredictorOnGpu.GivesTheOutputsOfTheCpu)
string(JOIN ":" ptx_files ${kernel_ptx})
set(launches)
foreach(layer data gradient ops optim train)
  target_sources(${layer}_emulated_test PRIVATE ptx/comparison.cpp)
  target_link_libraries(${layer}_emulated_test PRIVATE lockstep_ptx)
  add_dependencies(${layer}_emulated_test lockstep_kernel_ptx)
  set(launches_of_test ${ptx_folder}/launches/${layer}.txt)
  list(APPEND launches ${launches_of_test})
  add_test(NAME ${layer}_ptx COMMAND ${layer}_emulated_test ${ptx_filter_of_${layer}})
  set_tests_properties(${layer}_ptx PROPERTIES TIMEOUT 300 FIXTURES_SETUP ptx_launches
    ENVIRONMENT "TEST_PTX=${ptx_files};TEST_PTX_LAUNCHES=${launches_of_test}")
endforeach()

add_executable(ptx_launched ptx/launched.cpp)
target_include_directories(ptx_launched PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(ptx_launched PRIVATE lockstep_ptx fmt::fmt)
add_test(NAME ptx_launched COMMAND ptx_launched ${kernel_ptx} ${launches})
set_tests_properties(ptx_launched PROPERTIES FIXTURES_REQUIRED ptx_launches)
