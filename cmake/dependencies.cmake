find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
# Libraries, as NAME:MODULE of pkg-config. Programs outside this tree that use the static library find the same ones,
# except Highway, through cmake/lockstepConfig.cmake.in or cmake/lockstep.pc.in.
set(lockstep_modules hwloc:hwloc xxhash:libxxhash deflate:libdeflate jpeg:libjpeg png:libpng webp:libwebp
    archive:libarchive crypto:libcrypto)
foreach(library ${lockstep_modules} highway:libhwy)
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 module)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
endforeach()

# The shared libarchive loads libxml2, ICU and all compression libraries, 40 MB that tar archives do not need.
set(archive_library PkgConfig::archive)
find_library(LOCKSTEP_LIBARCHIVE libarchive.a HINTS ${archive_LIBRARY_DIRS})
if(LOCKSTEP_LIBARCHIVE)
  set(archive_library ${LOCKSTEP_LIBARCHIVE})
endif()

# Libraries that every program that uses the static library needs.
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
