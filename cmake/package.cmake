# Installs the library for other programs: headers, the archive, and files for CMake and pkg-config.
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/lockstep)
if(lockstep_backend STREQUAL "lockstep_cuda")
  set(lockstep_with_cuda TRUE)
  set(lockstep_cuda_flags " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
else()
  set(lockstep_with_cuda FALSE)
  set(lockstep_cuda_flags "")
endif()
set(lockstep_protobuf_modules "")
if(NOT lockstep_protobuf_missing)
  set(lockstep_protobuf_modules protobuf:protobuf-lite)
  set(lockstep_protobuf_requires " protobuf-lite")
endif()

set_target_properties(lockstep_library PROPERTIES OUTPUT_NAME lockstep EXPORT_NAME lockstep)
install(TARGETS lockstep_library EXPORT lockstep ARCHIVE DESTINATION lib INCLUDES DESTINATION include)
install(TARGETS lockstep_link_dependencies ${lockstep_backend}_libraries EXPORT lockstep)
install(EXPORT lockstep FILE lockstepTargets.cmake NAMESPACE lockstep:: DESTINATION ${package_folder})
install(DIRECTORY include/lockstep DESTINATION include)

configure_package_config_file(cmake/lockstepConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/lockstepConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lockstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lockstepConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/lockstepConfigVersion.cmake DESTINATION ${package_folder})

configure_file(cmake/lockstep.pc.in lockstep.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lockstep.pc DESTINATION lib/pkgconfig)
