# Generates the functions of src/core/version.h:
#   cmake -D VERSION=... -D CUDA=<version, or empty> -D ROOT=<repository> -D EXCLUDE=<regular expression of sources that
#     do not affect results> -D OUTPUT=FILE -P version.cmake
file(GLOB_RECURSE sources RELATIVE ${ROOT}
     ${ROOT}/src/*.h ${ROOT}/src/*.cpp ${ROOT}/src/*.cu ${ROOT}/src/*.cuh ${ROOT}/include/*.h)
list(FILTER sources EXCLUDE REGEX "${EXCLUDE}")
set(all)
foreach(source IN LISTS sources)
  file(SHA1 ${ROOT}/${source} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA1 revision "${all}")
string(SUBSTRING ${revision} 0 12 revision)
file(WRITE ${OUTPUT} "#include \"core/version.h\"

namespace lockstep {

const char* version() { return \"${VERSION}\"; }
const char* revision() { return \"${revision}\"; }
const char* cuda_version() { return \"${CUDA}\"; }

}  // namespace lockstep
")
