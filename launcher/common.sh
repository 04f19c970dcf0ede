# Functions shared by the scripts of this folder: packages, builds, stages. To be sourced; runs nothing by itself.
# shellcheck shell=bash

launcher=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck disable=SC2034  # the scripts that source this file use it
root=$(dirname "$launcher")
logs=$root/build/logs

say() { printf '%s\n' "$*"; }

# Prints the comment at the beginning of the script.
print_help() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }

die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# packages_of GROUP...: prints the names of their packages.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$launcher/packages.txt"
  done
}

# missing_packages PACKAGE...: prints those that are not installed.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
      awk '$1 == "installed" { print $2 }' | sort -u)
}

# as_root COMMAND...: runs it as root, with an empty standard input, so that it cannot wait for an answer.
as_root() {
  local sudo=()
  [[ $EUID -eq 0 ]] || sudo=(sudo)
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# require_root PACKAGE...: returns if they can be installed, else ends with one line that says why not.
require_root() {
  [[ $EUID -eq 0 ]] && return
  local command="apt-get install --no-install-recommends $*"
  command -v sudo >/dev/null || die "neither root nor sudo here; have an administrator run: $command"
  sudo -n true 2>/dev/null && return
  [[ -t 0 ]] && sudo -v && return
  die "sudo refused or needs a password; run first: sudo $command"
}

# install_packages GROUP...: installs what is missing. Uses the network only if something is.
install_packages() {
  local wanted missing
  mapfile -t wanted < <(packages_of "$@")
  command -v apt-get >/dev/null ||
    die "this is not a Debian system; install the counterparts of: ${wanted[*]}; then use --no-packages"
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -eq 0 ]] && return
  require_root "${missing[@]}"
  stage "packages (${#missing[@]} and what they need)" fetch_packages "${missing[@]}" ||
    die "cannot install packages; is there a network, and is this Debian 12 or newer? log: $logs/packages.log"
}

# Updates the package lists first: they may be stale or absent. A source that cannot be updated is no error if the
# packages are found elsewhere. Waits for the lock of a fresh cloud machine that is updating itself.
fetch_packages() {
  local apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  as_root "${apt[@]}" update || say "some package lists could not be updated"
  as_root "${apt[@]}" install --no-install-recommends "$@"
}

# Fetches the headers of cuDNN's graph API, which Debian does not have, into build/cudnn-frontend, where CMake looks for
# them. Does nothing without CUDA's compiler. A failure is no error: CPU ranks are built without them.
install_cudnn_frontend() {
  local version=1.32.0 folder=$root/build/cudnn-frontend
  [[ -f $folder/include/cudnn_frontend.h ]] && return
  command -v "${CUDACXX:-nvcc}" >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || return 0
  mkdir -p "$logs" || die "cannot write to $root/build"
  if fetch_cudnn_frontend "$version" "$folder" >"$logs/cudnn-frontend.log" 2>&1 </dev/null; then
    say "headers of cudnn-frontend $version: build/cudnn-frontend"
  else
    say "building without CUDA: cannot fetch nvidia-cudnn-frontend $version by pip; see $logs/cudnn-frontend.log"
  fi
}

# fetch_cudnn_frontend VERSION FOLDER: also makes builds that were configured without the headers configure again.
fetch_cudnn_frontend() {
  local version=$1 folder=$2
  rm -rf "$folder.tmp" && mkdir -p "$folder.tmp" &&
    python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$folder.tmp" \
      "nvidia-cudnn-frontend==$version" &&
    python3 -m zipfile -e "$folder.tmp"/nvidia_cudnn_frontend-*.whl "$folder.tmp" &&
    [[ -f $folder.tmp/include/cudnn_frontend.h ]] &&
    rm -rf "$folder" && mkdir -p "$folder" && mv "$folder.tmp/include" "$folder/" &&
    rm -rf "$folder.tmp" "$root"/build/{release,test}/build.ninja
}

# stage NAME COMMAND...: runs the command and prints one line with its time. The output goes to build/logs and is shown
# if the command fails. Returns the command's status. A function given as the command must join its steps with &&,
# because set -e has no effect there.
stage() {
  local name=$1 started=$SECONDS status=0 log
  shift
  log=$logs/${name%% *}.log
  mkdir -p "$logs" || die "cannot write to $root/build"
  [[ $BASHPID -ne $$ ]] || printf '%-44s' "$name"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [[ $BASHPID -eq $$ ]] || printf '%-44s' "$name"  # several stages at once: each prints its whole line at its end
  if [[ $status -eq 0 ]]; then
    printf '%4d s\n' $((SECONDS - started))
  else
    printf '%4d s  FAILED (status %d)\n' $((SECONDS - started)) "$status"
    tail -n 40 "$log" | sed 's/^/  | /'
    say "  whole log: $log"
  fi
  return "$status"
}

# without_aslr COMMAND...: runs it with fixed addresses. The sanitizers of Clang 14 do not start where the system
# randomizes more than 28 bits of them.
without_aslr() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# Prints the number of compilations at once: one per processor, with a gigabyte of memory for each.
jobs_at_once() {
  local processors gigabytes
  processors=$(nproc)
  gigabytes=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  [[ $gigabytes -ge 1 ]] || gigabytes=1
  printf '%d\n' $((processors < gigabytes ? processors : gigabytes))
}

# build_preset PRESET [TARGET...]: configures if necessary, then builds. A second script that builds the same preset
# waits. After an interruption, the next call completes the build.
build_preset() {
  local preset=$1 folder=$root/build/$1
  shift
  mkdir -p "$folder" && (
    flock 9 && cd "$root" && configure "$preset" "$folder" &&
      cmake --build --preset "$preset" --parallel "$(jobs_at_once)" ${1:+--target "$@"}
  ) 9>"$folder/.lock"
}

# Options of CMake for a folder that has not been configured yet.
configure_options=()

# configure PRESET FOLDER: runs CMake with PRESET, unless FOLDER is already configured (Ninja detects changed CMake
# files). First removes a cache that is incomplete or was created under another path.
configure() {
  local preset=$1 folder=$2
  [[ -f $folder/build.ninja ]] && grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt" &&
    return
  rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles" "$folder/build.ninja"
  cmake --preset "$preset" ${configure_options[@]+"${configure_options[@]}"} && return
  rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles" "$folder/build.ninja"
  return 1
}
