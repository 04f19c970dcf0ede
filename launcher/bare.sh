#!/usr/bin/env bash
# Runs launcher/selftest.sh in a fresh Debian or Ubuntu with nothing installed, as on a user's machine: a folder made by
# debootstrap, with /proc, /sys and /dev, in which the script becomes the root directory. The folder is removed at the
# end. Needs root, debootstrap and a Debian mirror.
#   launcher/bare.sh [--release NAME] [OPTION...]
#   --release NAME   default: bookworm (Debian 12); trixie (Debian 13), or of Ubuntu: noble (24.04)
#   OPTION...        options of selftest.sh; default: --quick
#   launcher/bare.sh --why-not   prints why no such folder can be made here; nothing if it can
#   launcher/bare.sh [--release NAME] [--architecture NAME] --system DIR
#     only installs the fresh Debian, in DIR, and leaves it there. Of another architecture, such as arm64, where the
#     kernel runs its programs by qemu (packages qemu-user-static and binfmt-support)
# The exit status is that of selftest.sh, or 4 if no Debian could be installed.
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

release=bookworm
architecture=
ubuntu=http://archive.ubuntu.com/ubuntu
keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg

is_ubuntu() { [[ $release == noble ]]; }

why_not() {
  if [[ $EUID -ne 0 ]]; then say "not root"; return; fi
  command -v debootstrap >/dev/null || command -v apt-get >/dev/null || { say "debootstrap is missing"; return; }
  unshare --mount --pid --fork true 2>/dev/null || say "namespaces for mounts and processes are not allowed"
}

# Lines "URI SUITE COMPONENT" of this system's package sources for the release. On another Debian, its mirror of the
# own release; none on another system.
# shellcheck disable=SC2016  # names of apt's fields
sources() {
  if is_ubuntu; then
    printf '%s %s\n' "$ubuntu $release" main "$ubuntu $release" universe "$ubuntu $release-updates" main \
      "$ubuntu $release-updates" universe
    return
  fi
  { apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null || true; } |
    awk -v release="$release" -v own="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" '
      $2 == release || index($2, release "-") == 1 { print; found = 1 }
      $2 == own && $3 == "main" { mirror = $1 }
      END { if (!found && mirror) print mirror, release, "main" }' | sort -u
}

# make_system FOLDER: installs the smallest system of the release, and copies how this system reaches its packages.
make_system() {
  local folder=$1 mirror script=()
  command -v debootstrap >/dev/null || fetch_packages debootstrap || return
  if is_ubuntu; then
    [[ -e $keyring ]] || fetch_packages ubuntu-archive-keyring ||
      { say "no $keyring; Debian 13 has it in the package ubuntu-archive-keyring" && return 1; }
    script=(gutsy)  # of all releases of Ubuntu; Debian's debootstrap does not know the newest by name
  fi
  mirror=$(sources | awk -v release="$release" '$2 == release { print $1; exit }')
  debootstrap --variant=minbase ${architecture:+"--arch=$architecture"} \
    "$release" "$folder" ${mirror:+"$mirror"} "${script[@]}" || return
  if [[ -n $mirror ]]; then
    sources | sed 's/^/deb /' >"$folder/etc/apt/sources.list" || return
  fi
  apt-config dump | grep -E '^Acquire::https?::' >"$folder/etc/apt/apt.conf.d/00host" || true
  cp /etc/resolv.conf "$folder/etc/" || return
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >"$folder/etc/hosts"
}

# copy_sources FOLDER: tracked and new files.
copy_sources() {
  mkdir -p "$1" && git -C "$root" ls-files -z --cached --others --exclude-standard |
    tar -C "$root" --null --files-from=- --ignore-failed-read -c | tar -C "$1" -x
}

# run_inside FOLDER OPTION...: replaces this process. Mounts and processes are in namespaces that end with it.
# shellcheck disable=SC2016  # expanded by the inner shell
run_inside() {
  local folder=$1
  shift
  exec unshare --mount --propagation private --pid --fork --kill-child bash -c '
    set -e
    folder=$1
    shift
    mount -t proc proc "$folder/proc"
    mount --rbind /sys "$folder/sys"
    mount --rbind /dev "$folder/dev"
    exec chroot "$folder" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" no_proxy="${no_proxy-}" \
      /root/lockstep/launcher/selftest.sh "$@"' bash "$folder" "$@" </dev/null
}

if [[ ${1-} == --release ]]; then
  release=${2:?--release needs a name}
  shift 2
fi
if [[ ${1-} == --architecture ]]; then
  architecture=${2:?--architecture needs a name}
  shift 2
  [[ ${1-} == --system ]] || die "--architecture needs --system"
fi
[[ ${1-} != --why-not ]] || { why_not; exit; }
[[ ${1-} != --help && ${1-} != -h ]] || { print_help; exit; }
reason=$(why_not)
if [[ -n $reason ]]; then
  say "$reason" >&2
  exit 4
fi
if [[ ${1-} == --system ]]; then
  make_system "${2:?--system needs a folder}" || exit 4
  exit
fi
folder=$(mktemp -d)
inside=
# Ends what still runs in the folder before removing it: all processes of a namespace die with its first one.
clean_up() {
  if [[ -n $inside ]] && kill -KILL "$inside" 2>/dev/null; then wait "$inside" 2>/dev/null || true; fi
  rm -rf --one-file-system "$folder" "$folder.log"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
started=$SECONDS
make_system "$folder" >"$folder.log" 2>&1 || {
  tail -n 20 "$folder.log"
  say "debootstrap failed" >&2
  exit 4
}
copy_sources "$folder/root/lockstep"
say "fresh system ($release): $((SECONDS - started)) s"
run_inside "$folder" "${@:---quick}" &  # in the background, so that a signal is handled at once
inside=$!
status=0
wait "$inside" || status=$?
if ((status != 0)); then
  mkdir -p "$logs"
  rm -rf "${logs:?}/bare-$release"
  if cp -r "$folder/root/lockstep/build/logs" "$logs/bare-$release"; then say "logs: $logs/bare-$release"; fi
  exit "$status"
fi
