#!/usr/bin/env bash
# Makes a release of the checked-out commit: tests it in fresh Debian folders, makes the packages, the wheel and the
# bundle, installs and tests these, and writes their checksums. On x86-64, also for 64-bit ARM. Needs root and a Debian
# mirror; takes about an hour.
#   launcher/release.sh [--releases "NAME..."] OUT
#   --releases   of Debian, in which the self-test runs; default: "bookworm trixie". Packages are of the present system
#   OUT          folder for the files and SHA256SUMS; must not exist
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

releases="bookworm trixie"
[[ ${1-} != --help && ${1-} != -h ]] || { print_help; exit; }
if [[ ${1-} == --releases ]]; then
  releases=${2?--releases needs names}
  shift 2
fi
out=${1-}
[[ $# -eq 1 && $out != -* ]] || die "usage: launcher/release.sh [--releases \"NAME...\"] OUT"
[[ ! -e $out ]] || die "$out exists"
[[ -z $(git -C "$root" status --porcelain) ]] || die "there are changes that are not committed"
version=$(sed -n 's/^project(lockstep VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
grep -q "^## $version" "$root/CHANGELOG.md" || die "CHANGELOG.md has no section $version"
if [[ $(uname -m) == x86_64 ]]; then
  install_packages arm64
  [[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]] ||
    die "the kernel does not run ARM programs by qemu: no /proc/sys/fs/binfmt_misc/qemu-aarch64 (update-binfmts --enable)"
fi
say "lockstep $version, commit $(git -C "$root" rev-parse --short HEAD)"

for release in $releases; do
  say "self-test in a fresh $release"
  "$root/launcher/bare.sh" --release "$release" --quick
done

# make_packages PRESET
make_packages() {
  local build=$root/build/$1 generator
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1" --target lockstep lockstep-run lockstep_library bundle wheel
  "$root/tests/packages/run.sh" --build "$build"
  for generator in DEB TZST; do cpack --config "$build/CPackConfig.cmake" -G "$generator" -B "$out" >/dev/null; done
  rm -rf "$out/_CPack_Packages"
  cp "$build"/lockstep-"$version"-*.whl "$build"/lockstep-"$version"-*64.tar.gz "$out"
}

cd "$root"
mkdir -p "$out"
make_packages release
if [[ $(uname -m) == x86_64 ]]; then
  "$launcher/arm64-sysroot.sh"
  make_packages arm64
fi
(cd "$out" && sha256sum lockstep* >SHA256SUMS)
cat "$out/SHA256SUMS"
