#!/usr/bin/env bash
# Makes build/arm64-sysroot, the folder from which CMake's preset arm64 takes the headers and libraries of 64-bit ARM:
# Debian's arm64 packages of what the build and the tests link, unpacked, not installed. Their dpkg database
# (DPKG_ADMINDIR=build/arm64-sysroot/var/lib/dpkg) lists which package a file of the folder comes from. Needs neither
# root nor an ARM machine, only apt-get and a Debian mirror. Does nothing if the folder is complete, and newer than
# launcher/packages.txt and this script.
#   launcher/arm64-sysroot.sh
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folder=$root/build/arm64-sysroot
unpacked=$folder.tmp
packages=$folder.packages

# The libraries of the build, and mpirun with what it loads.
names() {
  packages_of build sysroot | grep -- '-dev$' && packages_of runtime
}

# apt_arm64 COMMAND...: runs apt-get for an empty arm64 system with this system's package sources.
apt_arm64() {
  apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Debug::NoLocking=1 \
    -o Dir::State="$packages" -o Dir::State::status="$packages/status" -o Dir::Cache="$packages" \
    -o Acquire::Retries=3 "$@"
}

fetch() {
  local names
  mapfile -t names < <(names)
  rm -rf "$packages" && mkdir -p "$packages"/{lists,archives}/partial && : >"$packages/status" &&
    { apt_arm64 update || say "some package lists could not be updated"; } &&
    apt_arm64 install --no-install-recommends --download-only "${names[@]}"
}

# register ARCHIVE: enters the package into the database, with the paths that its files get. Does not run its scripts,
# which would need an ARM machine.
register() {
  local archive=$1 database=$unpacked/var/lib/dpkg name file
  mkdir -p "$database/info" "$packages/control" || return
  name=$(dpkg-deb -f "$archive" Package)
  if [[ $(dpkg-deb -f "$archive" Multi-Arch) == same ]]; then name+=:arm64; fi
  dpkg-deb -e "$archive" "$packages/control" || return
  for file in symbols shlibs; do
    [[ ! -e $packages/control/$file ]] || mv "$packages/control/$file" "$database/info/$name.$file" || return
  done
  rm -rf "$packages/control"
  dpkg-deb --fsys-tarfile "$archive" | tar -t | sed 's|^[.]||; s|/$||' | while IFS= read -r file; do
    printf '%s\n' "$folder$file"
  done >"$database/info/$name.list" &&
    dpkg-deb -f "$archive" | sed '/^Package:/a Status: install ok installed' >>"$database/status" &&
    echo >>"$database/status"
}

# Symbolic links to absolute paths would lead out of the folder.
unpack() {
  local archive link
  rm -rf "$folder" "$unpacked" && mkdir -p "$unpacked/var/lib/dpkg/info" || return
  echo 1 >"$unpacked/var/lib/dpkg/info/format"  # file names contain the architecture
  printf '%s\n' "$(dpkg --print-architecture)" arm64 >"$unpacked/var/lib/dpkg/arch"
  for archive in "$packages"/archives/*.deb; do
    dpkg-deb -x "$archive" "$unpacked" && register "$archive" || return
  done
  find "$unpacked" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -snf --relative "$unpacked$(readlink "$link")" "$link" || return
  done
  find "$unpacked/usr/share/doc" -type f ! -name copyright -delete || return
  rm -rf "$packages" "$unpacked"/usr/share/{locale,man,perl} &&
    touch "$unpacked" && mv "$unpacked" "$folder"  # unpacking gave it the time of an archive
}

[[ ${1-} != --help && ${1-} != -h ]] || { print_help; exit; }
# The dpkg database has absolute paths, which are wrong once the folder is moved.
made_here() { [[ $(head -qn 1 "$folder/var/lib/dpkg/info/libc6:arm64.list" 2>/dev/null) == "$folder" ]]; }
if [[ $folder -nt $launcher/packages.txt && $folder -nt $0 ]] && made_here; then exit; fi
command -v apt-get >/dev/null ||
  die "this is not a Debian system; unpack the arm64 counterparts of these into $folder: $(names | xargs)"
mkdir -p "$root/build" || die "cannot write to $root/build"
fetch || die "cannot fetch arm64 packages; is there a network, and is this Debian 12 or newer?"
unpack || die "cannot unpack packages into $unpacked"
