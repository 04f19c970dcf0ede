# Installs the library for other programs: headers, the archive, and files for CMake and pkg-config.
include(CheckSymbolExists)
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/lockstep)
if(lockstep_backend STREQUAL "lockstep_cuda")
  set(lockstep_with_cuda TRUE)
  set(lockstep_cuda_flags " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
else()
  set(lockstep_with_cuda FALSE)
  set(lockstep_cuda_flags "")
endif()
list(TRANSFORM lockstep_modules REPLACE ".*:" "" OUTPUT_VARIABLE lockstep_requires)
list(JOIN lockstep_requires " " lockstep_requires)

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

set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
set(CMAKE_REQUIRED_QUIET ON)
check_symbol_exists(MPICH_VERSION mpi.h lockstep_is_mpich)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_QUIET)
set(lockstep_mpi_package ompi-c)
if(lockstep_is_mpich)
  set(lockstep_mpi_package mpich)
endif()
configure_file(cmake/lockstep.pc.in lockstep.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lockstep.pc DESTINATION lib/pkgconfig)
