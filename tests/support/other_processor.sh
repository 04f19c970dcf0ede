# shellcheck shell=bash
# Runs the program of a build folder that may be for another processor. Scripts of tests source this after run_case.sh,
# and set root and build. Skips the script if this machine cannot run the program.

[[ -x ${build:?}/lockstep && -e $build/CPackConfig.cmake ]] ||
  die 4 "no program in $build; build it: cmake --build $build"

# Debian's name of the processor that the build is for; empty if it is this machine's
architecture=$(sed -n 's/^set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")

# run_built ARGUMENT...: runs lockstep; on another processor, with the libraries of its sysroot.
run_built() { QEMU_LD_PREFIX=${root:?}/build/$architecture-sysroot "$build/lockstep" "$@"; }

# digest OUTPUT: prints the line of the digest; nothing: there is none.
digest() { grep -o 'digest xxh3:[0-9a-f]*' <<<"$1" || true; }

[[ -z $architecture ]] || run_built --version >/dev/null 2>&1 ||
  skip "the kernel does not run programs for $architecture (packages qemu-user-static and binfmt-support)"
