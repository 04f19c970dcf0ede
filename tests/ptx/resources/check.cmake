# Compiles the kernels' PTX for two types of GPU, H200 and B200, and checks what ptxas reports for each kernel: few
# spills, little stack, and shared memory and registers within limits. Also checks that the PTX has no atomic
# operations, because their order changes bits. Run as:
#   cmake -D PTXAS=<ptxas> -D "PTX=<file>;..." -D CUBIN=<file for results> [-D PLANTED=<source>] -P check.cmake
# PLANTED: source of the given PTX, with planted faults; each regular expression in its comments `// finds: <regular
# expression>` must match a finding.
cmake_minimum_required(VERSION 3.22)
set(max_stack 1024)       # bytes; sums by tree level need 512
set(max_shared 32768)     # bytes, so that six blocks share a multiprocessor of an H200
set(max_registers 128)    # 512 threads on a multiprocessor of 65,536 registers
set(max_spill_90a 0)      # bytes
set(max_spill_100 16)     # SumGradients<Bfloat16>, which would need 135 registers on sm_100

# ptxas supports sm_100 since CUDA 12.8.
set(types_of_gpu 90a)
execute_process(COMMAND ${PTXAS} --help OUTPUT_VARIABLE help)
if(help MATCHES "'sm_100'")
  list(APPEND types_of_gpu 100)
endif()

# check_limit(<pattern> <variable of the limit> <what>): adds a finding if the number in the line exceeds the limit.
macro(check_limit pattern limit what)
  if(line MATCHES "${pattern}" AND CMAKE_MATCH_1 GREATER ${limit})
    list(APPEND findings "${name}: ${kernel}: ${CMAKE_MATCH_1} ${what}")
  endif()
endmacro()

set(findings)
set(kernels 0)
foreach(file IN LISTS PTX)
  get_filename_component(name ${file} NAME)
  foreach(type IN LISTS types_of_gpu)
    execute_process(COMMAND ${PTXAS} -v -arch=sm_${type} -o ${CUBIN} ${file}
      RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${name} cannot be compiled:\n${text}")
    endif()
    string(REPLACE ";" "," text "${text}")
    string(REGEX REPLACE "\n" ";" lines "${text}")
    set(kernel "?")
    foreach(line IN LISTS lines)
      if(line MATCHES "Compiling entry function '([^']+)' for 'sm_([0-9a]+)'")
        set(kernel "${CMAKE_MATCH_1} on sm_${CMAKE_MATCH_2}")
        set(max_spill ${max_spill_${CMAKE_MATCH_2}})
        math(EXPR kernels "${kernels} + 1")
      endif()
      check_limit("([0-9]+) bytes stack frame" max_stack "bytes of stack")
      check_limit("Used ([0-9]+) registers" max_registers "registers")
      check_limit("([0-9]+) bytes smem" max_shared "bytes of shared memory")
      check_limit("([0-9]+) bytes spill stores" max_spill "bytes of spill stores")
      check_limit("([0-9]+) bytes spill loads" max_spill "bytes of spill loads")
    endforeach()
  endforeach()
  file(STRINGS ${file} bad REGEX "^[ \t]*(@[^ ]+ )?(atom|red)[.]")
  foreach(line IN LISTS bad)
    string(STRIP "${line}" line)
    list(APPEND findings "${name}: ${line}")
  endforeach()
endforeach()
if(kernels EQUAL 0)
  message(FATAL_ERROR "no kernels in ${PTX}")
endif()

if(PLANTED)
  file(STRINGS ${PLANTED} expected REGEX "// finds: ")
  foreach(line IN LISTS expected)
    string(REGEX REPLACE ".*// finds: " "" pattern "${line}")
    if(NOT findings MATCHES "${pattern}")
      message(SEND_ERROR "${PLANTED}: not found: ${pattern}; found: ${findings}")
    endif()
  endforeach()
elseif(findings)
  list(REMOVE_DUPLICATES findings)
  string(REPLACE ";" "\n" findings "${findings}")
  message(FATAL_ERROR "${findings}")
endif()
message(STATUS "${kernels} kernels for ${types_of_gpu}")
