# Runs COMMAND (words separated by commas) and checks that it ends with STATUS. If ERROR is given, exactly one line of
# its stderr must be an error of lockstep, and match ERROR.
string(REPLACE "," ";" COMMAND "${COMMAND}")
execute_process(COMMAND ${COMMAND} TIMEOUT 60 RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT status EQUAL STATUS)
  message(FATAL_ERROR "status ${status}, expected ${STATUS}\n${output}${error}")
endif()
if(DEFINED ERROR)
  string(REGEX MATCHALL "lockstep: error: [^\n]*" lines "${error}")
  list(LENGTH lines count)
  if(NOT count EQUAL 1 OR NOT lines MATCHES "${ERROR}")
    message(FATAL_ERROR "expected one line like '${ERROR}', got:\n${error}")
  endif()
endif()
