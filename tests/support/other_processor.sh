# shellcheck shell=bash
# Runs the program of a build folder that may be for another processor. To be sourced by scripts of tests, which set
# root and build.

if [[ ! -x ${build:?}/lockstep || ! -e $build/CPackConfig.cmake ]]; then
  printf '%s: error: no program in %s; build it: cmake --build %s\n' "$(basename "$0")" "$build" "$build" >&2
  exit 4
fi

# Debian's name of the processor that the build is for; empty if it is this machine's
architecture=$(sed -n 's/^set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")

# run_built ARGUMENT...: runs lockstep; on another processor, with the libraries of its sysroot.
run_built() { QEMU_LD_PREFIX=${root:?}/build/$architecture-sysroot "$build/lockstep" "$@"; }

# why_not_run: prints why this machine does not run the program; nothing if it does.
why_not_run() {
  [[ -z $architecture ]] || run_built --version >/dev/null 2>&1 ||
    echo "the kernel does not run programs for $architecture (packages qemu-user-static and binfmt-support)"
}
