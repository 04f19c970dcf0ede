find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(highway REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(deflate REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(jpeg REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(png REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(archive REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(crypto REQUIRED IMPORTED_TARGET libcrypto)

# The shared libarchive loads libxml2, ICU and all compression libraries, 40 MB that tar archives do not need.
set(archive_library PkgConfig::archive)
find_library(LOCKSTEP_LIBARCHIVE libarchive.a HINTS ${archive_LIBRARY_DIRS})
if(LOCKSTEP_LIBARCHIVE)
  set(archive_library ${LOCKSTEP_LIBARCHIVE})
endif()

# Libraries that every program needs which uses the static library. cmake/lockstepConfig.cmake.in and
# cmake/lockstep.pc.in find them for programs outside this tree.
add_library(lockstep_link_dependencies INTERFACE)
target_link_libraries(lockstep_link_dependencies INTERFACE
  MPI::MPI_C fmt::fmt PkgConfig::hwloc PkgConfig::xxhash PkgConfig::deflate PkgConfig::jpeg PkgConfig::png
  PkgConfig::webp $<BUILD_INTERFACE:${archive_library}> $<INSTALL_INTERFACE:PkgConfig::archive> PkgConfig::crypto
  Threads::Threads)
# All libraries whose headers the sources of this tree include.
add_library(lockstep_dependencies INTERFACE)
target_link_libraries(lockstep_dependencies INTERFACE
  lockstep_link_dependencies Boost::program_options nlohmann_json::nlohmann_json PkgConfig::highway)
target_include_directories(lockstep_dependencies SYSTEM INTERFACE ${archive_INCLUDE_DIRS})
target_compile_definitions(lockstep_dependencies INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)

message(STATUS "lockstep ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE})")
foreach(row "MPI;${MPI_C_VERSION}" "Boost.Program_options;${Boost_VERSION}" "hwloc;${hwloc_VERSION}"
            "Highway;${highway_VERSION}" "xxHash;${xxhash_VERSION}" "libdeflate;${deflate_VERSION}"
            "libjpeg-turbo;${jpeg_VERSION}" "libpng;${png_VERSION}" "libwebp;${webp_VERSION}"
            "libarchive;${archive_VERSION}" "OpenSSL;${crypto_VERSION}"
            "nlohmann/json;${nlohmann_json_VERSION}" "fmt;${fmt_VERSION}")
  list(GET row 0 name)
  list(GET row 1 version)
  string(LENGTH "${name}" length)
  math(EXPR pad "24 - ${length}")
  string(REPEAT " " ${pad} spaces)
  message(STATUS "  ${name}${spaces}${version}")
endforeach()
