# Compiles for 64-bit ARM on another machine: Debian's cross compiler, with the headers and libraries of
# build/arm64-sysroot (launcher/arm64-sysroot.sh makes it). Tests run on qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(LOCKSTEP_DEBIAN_ARCHITECTURE arm64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})

set(libraries /usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}${libraries}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# FindMPI would ask mpicc, which describes the libraries of the machine that it runs on.
set(MPI_SKIP_COMPILER_WRAPPER ON)
set(MPI_C_COMPILER_INCLUDE_DIRS ${CMAKE_SYSROOT}${libraries}/openmpi/include)
set(MPI_C_LIB_NAMES mpi)
set(MPI_mpi_LIBRARY ${CMAKE_SYSROOT}${libraries}/openmpi/lib/libmpi.so)
set(MPIEXEC_EXECUTABLE ${CMAKE_SYSROOT}/usr/bin/mpiexec.openmpi)
