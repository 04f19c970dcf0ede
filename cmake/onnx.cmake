# Export and import of ONNX files (src/onnx), which are protobuf messages:
#   protobuf/     reads and writes the files. Uses only the description of the messages in Debian's libonnx, from which
#                 protoc generates code
#   no_protobuf/  the same functions for builds without protobuf: they report the reason
set(LOCKSTEP_ONNX AUTO CACHE STRING "ONNX export and import: AUTO (if protobuf and onnx.proto are found), ON or OFF")

set(lockstep_onnx_missing ${lockstep_protobuf_missing})
find_path(LOCKSTEP_ONNX_PROTO_DIR onnx/onnx.proto)
if(LOCKSTEP_ONNX STREQUAL "OFF")
  set(lockstep_onnx_missing "LOCKSTEP_ONNX=OFF")
elseif(NOT lockstep_onnx_missing AND NOT LOCKSTEP_ONNX_PROTO_DIR)
  set(lockstep_onnx_missing "onnx.proto of libonnx-dev not found")
endif()

file(GLOB onnx_sources CONFIGURE_DEPENDS src/onnx/*.cpp)
add_library(lockstep_onnx INTERFACE)  # dependencies of sources that use the messages
if(lockstep_onnx_missing)
  if(LOCKSTEP_ONNX STREQUAL "ON")
    message(FATAL_ERROR "LOCKSTEP_ONNX=ON, but ${lockstep_onnx_missing}")
  endif()
  message(STATUS "  ONNX                    off (export, import): ${lockstep_onnx_missing}")
  list(APPEND onnx_sources ${PROJECT_SOURCE_DIR}/src/onnx/no_protobuf/no_onnx.cpp)
  target_compile_definitions(lockstep_onnx INTERFACE LOCKSTEP_ONNX_MISSING="${lockstep_onnx_missing}")
else()
  message(STATUS "  ONNX                    ${LOCKSTEP_ONNX_PROTO_DIR}/onnx/onnx.proto")
  file(GLOB found CONFIGURE_DEPENDS src/onnx/protobuf/*.cpp)
  list(APPEND onnx_sources ${found})
  lockstep_protoc(${LOCKSTEP_ONNX_PROTO_DIR} onnx/onnx)
  add_library(lockstep_onnx_messages OBJECT ${lockstep_generated}/onnx/onnx.pb.cc)
  target_compile_options(lockstep_onnx_messages PRIVATE -w $<$<CONFIG:Release>:-O1>)
  target_include_directories(lockstep_onnx_messages SYSTEM PRIVATE ${lockstep_generated})
  target_link_libraries(lockstep_onnx_messages PRIVATE PkgConfig::protobuf)
  target_include_directories(lockstep_onnx SYSTEM INTERFACE ${lockstep_generated})
  target_sources(lockstep_onnx INTERFACE $<TARGET_OBJECTS:lockstep_onnx_messages>)
  target_link_libraries(lockstep_onnx INTERFACE PkgConfig::protobuf)
endif()
