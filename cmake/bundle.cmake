# Targets for relocatable archives in the build folder, for machines without a package manager:
#   bundle       lockstep-VERSION-PROCESSOR.tar.gz: program, Open MPI, libraries, scripts, and lockstep.spdx.json, which
#                lists the packages that the files come from (make_bundle.cmake)
#   bundle-data  lockstep-VERSION-PROCESSOR-data.tar.gz: Fashion-MNIST; unpacks into the same folder
set(LOCKSTEP_BUNDLE_DATA /usr/share/datasets/fashion-mnist CACHE PATH "Folder of Fashion-MNIST for bundle-data")
set(bundle_name lockstep-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(bundle_arguments -D NAME=${bundle_name} -D VERSION=${PROJECT_VERSION} -D SOURCE=${PROJECT_SOURCE_DIR}
    -D BUILD=${CMAKE_CURRENT_BINARY_DIR} -D CMAKE_OBJDUMP=${CMAKE_OBJDUMP} -D STRIP=${CMAKE_STRIP}
    -D SYSROOT=${CMAKE_SYSROOT})

add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND} ${bundle_arguments} -D PROGRAM=$<TARGET_FILE:lockstep>
    -D LAUNCHER=$<TARGET_FILE:lockstep-run> -D MPIEXEC=${MPIEXEC_EXECUTABLE}
    -D "EMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
    -P ${PROJECT_SOURCE_DIR}/cmake/make_bundle.cmake
  DEPENDS lockstep lockstep-run COMMENT "${bundle_name}.tar.gz" VERBATIM)
add_custom_target(bundle-data
  COMMAND ${CMAKE_COMMAND} ${bundle_arguments} -D DATA=${LOCKSTEP_BUNDLE_DATA}
    -P ${PROJECT_SOURCE_DIR}/cmake/make_bundle.cmake
  COMMENT "${bundle_name}-data.tar.gz" VERBATIM)
