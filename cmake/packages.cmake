# Packages of what `cmake --install` installs: `cpack --config BUILD/CPackConfig.cmake` writes a .deb and a .tar.zst.
# The target `wheel` makes a wheel of the bundle, for machines with pip but without root (make_wheel.py).
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR lockstep)
set(CPACK_PACKAGE_CONTACT "The lockstep authors <lockstep@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed data-parallel training with the same bits on any number of ranks")
set(CPACK_PACKAGE_DESCRIPTION "Trains neural networks on several CPUs, GPUs and hosts, started by mpirun or Slurm. The \
result is the same to the bit on any number of ranks, hosts and threads, and across restarts.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME lockstep-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TZST)
set(CPACK_THREADS 0)

# The .deb depends on the packages of the libraries that the programs are linked to, and on mpirun.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openssh-client)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS dataset-fashion-mnist)
if(CMAKE_SYSROOT)  # for another processor: the folders of its libraries, and the database of their packages
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${LOCKSTEP_DEBIAN_ARCHITECTURE})
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}
      ${CMAKE_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/CPackSysroot.cmake)
  file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "set(ENV{DPKG_ADMINDIR} \"${CMAKE_SYSROOT}/var/lib/dpkg\")\n")
endif()
include(CPack)

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_custom_target(wheel
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/make_wheel.py ${PROJECT_VERSION}
      ${CMAKE_CURRENT_BINARY_DIR}/bundle/lockstep-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}
      ${PROJECT_SOURCE_DIR}/README.md ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "wheel of the bundle" VERBATIM)
  add_dependencies(wheel bundle)
endif()
