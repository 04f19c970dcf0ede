# Protobuf, the format of TensorBoard's event files and of ONNX models (onnx.cmake). Folders named protobuf use it;
# folders named no_protobuf have the same functions for builds without it.
set(LOCKSTEP_PROTOBUF AUTO CACHE STRING "Event files for TensorBoard, and ONNX: AUTO (if protobuf is found), ON or OFF")

set(lockstep_protobuf_missing "")
if(LOCKSTEP_PROTOBUF STREQUAL "OFF")
  set(lockstep_protobuf_missing "LOCKSTEP_PROTOBUF=OFF")
else()
  pkg_check_modules(protobuf QUIET IMPORTED_TARGET GLOBAL protobuf-lite)
  find_program(LOCKSTEP_PROTOC protoc)
  if(NOT protobuf_FOUND)
    set(lockstep_protobuf_missing "libprotobuf-lite not found")
  elseif(NOT LOCKSTEP_PROTOC)
    set(lockstep_protobuf_missing "protoc not found")
  endif()
endif()
if(NOT lockstep_protobuf_missing)
  message(STATUS "  protobuf                ${protobuf_VERSION}")
  list(APPEND lockstep_modules protobuf:protobuf-lite)
  target_link_libraries(lockstep_link_dependencies INTERFACE PkgConfig::protobuf)
elseif(LOCKSTEP_PROTOBUF STREQUAL "ON")
  message(FATAL_ERROR "LOCKSTEP_PROTOBUF=ON, but ${lockstep_protobuf_missing}")
else()
  message(STATUS "  protobuf                off (--tensorboard): ${lockstep_protobuf_missing}")
endif()

# lockstep_protoc(<folder> <name>): adds a rule by which protoc generates NAME.pb.cc and NAME.pb.h, in
# ${lockstep_generated}, from FOLDER/NAME.proto.
set(lockstep_generated ${PROJECT_BINARY_DIR}/protobuf)
function(lockstep_protoc folder name)
  file(MAKE_DIRECTORY ${lockstep_generated})
  add_custom_command(OUTPUT ${lockstep_generated}/${name}.pb.cc ${lockstep_generated}/${name}.pb.h VERBATIM
    DEPENDS ${folder}/${name}.proto
    COMMAND ${LOCKSTEP_PROTOC} --proto_path=${folder} --cpp_out=lite:${lockstep_generated} ${name}.proto)
endfunction()

# lockstep_add_protobuf(<target> <folder> <name>): adds to a target the sources of FOLDER/protobuf and the code that
# protoc generates from FOLDER/NAME.proto, which they include as <NAME.pb.h>; without protobuf, adds the sources of
# FOLDER/no_protobuf.
function(lockstep_add_protobuf target folder name)
  set(folder ${PROJECT_SOURCE_DIR}/${folder})
  if(lockstep_protobuf_missing)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/no_protobuf/*.cpp)
    set_source_files_properties(${sources} PROPERTIES
      COMPILE_DEFINITIONS LOCKSTEP_PROTOBUF_MISSING="${lockstep_protobuf_missing}")
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/protobuf/*.cpp)
    lockstep_protoc(${folder} ${name})
    set(messages ${lockstep_generated}/${name}.pb)
    set_source_files_properties(${messages}.cc PROPERTIES COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON)
    list(APPEND sources ${messages}.cc ${messages}.h)
    target_include_directories(${target} SYSTEM PRIVATE ${lockstep_generated})
  endif()
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${sources})
endfunction()
