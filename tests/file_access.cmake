# Checks that the program uses files and folders only through src/core/files/file_system.h, so that tests can inject
# faults into every call. Run as:
#   cmake -D ROOT=<repository> -P file_access.cmake
cmake_minimum_required(VERSION 3.22)

# Sources that use kernel files, which are not part of a run's data:
set(kernel_files
  src/core/files/file_system.h            # the interface itself
  src/core/files/file_system.cpp
  src/cli/bench/bench_allreduce.cpp       # /sys/class/net
  src/cli/preflight/preflight.cpp         # the working directory of ranks
  src/comm/transports/shared_memory.cpp   # memfd, /proc/PID/fd
  src/core/process/process.cpp            # /proc/PID, /dev/null
  src/core/process/interfaces.cpp         # /proc/net
  src/core/process/processors.cpp         # /sys/devices/system
  src/device/cpu/cpu_device.cpp           # memory without a file
  src/device/host_probe.cpp               # /proc, control groups
  src/run/environment.cpp                 # /proc/cpuinfo
  src/watch/job_memory.cpp)               # named memory, which the launcher finds

# Headers with functions that open, change or map files; src/core/files may use their flags.
set(headers "#include <(fstream|fcntl[.]h|dirent[.]h|sys/(stat|statvfs|mman|sendfile)[.]h|spdlog/sinks/.*)>")
# Functions of that kind in other headers.
set(functions "(^|[^A-Za-z0-9_:.>])(std::|::)?(f(re|d)?open|tmpfile|truncate|unlink(at)?|rename(at)?|rmdir|access|realpath|chdir)[(]|std::remove[(][^,]*[)]|std::filesystem::([^pa]|p[^a]|a[^b])|namespace +[a-z]+ *= *std::filesystem|using +namespace +std::filesystem")

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.h ${ROOT}/src/*.cpp ${ROOT}/src/*.cu ${ROOT}/src/*.cuh
     ${ROOT}/include/*.h)
list(LENGTH sources count)
if(count EQUAL 0)
  message(FATAL_ERROR "no sources under ${ROOT}")
endif()
foreach(source IN LISTS kernel_files)
  if(NOT source IN_LIST sources)
    message(SEND_ERROR "tests/file_access.cmake names ${source}, which is no source")
  endif()
endforeach()

# refuse(<source> <pattern>): reports lines of code, not comments, that match.
function(refuse source pattern)
  file(STRINGS ${ROOT}/${source} lines REGEX "${pattern}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "//.*" "" code "${line}")
    if(code MATCHES "${pattern}")
      string(STRIP "${code}" code)
      message(SEND_ERROR "${source}: ${code}: use core/files (file.h, atomic_file.h, folder.h)")
    endif()
  endforeach()
endfunction()

foreach(source IN LISTS sources)
  if(source IN_LIST kernel_files)
    continue()
  endif()
  if(NOT source MATCHES "^src/core/files/")
    refuse(${source} "${headers}")
  endif()
  refuse(${source} "${functions}")
endforeach()
message(STATUS "${count} files")
