#!/usr/bin/env bash
# Builds the packages of a build folder, installs each in a clean environment, and trains with it on one and on two
# ranks. The digests must equal that of the program in the build folder. The .deb is installed in a fresh Debian
# (launcher/bare.sh), which needs root and takes a minute. The last line is "N of N passed"; the status is 77 if
# something is missing here.
#   tests/packages/run.sh [--build DIR] [CASE...]
#   --build DIR  default: build/release. Packages for another processor (build/arm64) are installed in a fresh Debian of
#                that processor, whose programs qemu runs; takes eight minutes
#   CASE...      wheel, archive, deb; default: all, for another processor wheel and deb
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=tests/support/run_case.sh
source "$root/tests/support/run_case.sh"
cases=(wheel deb archive)
choose_cases --build "$@"
build=$(readlink -f "${value:-$root/build/release}")
# shellcheck source=tests/support/other_processor.sh
source "$root/tests/support/other_processor.sh"
if ((${#chosen[@]} == 0)); then
  chosen=(wheel deb)
  [[ -n $architecture ]] || chosen+=(archive)
fi

for needed in cpack zstd dpkg-shlibdeps python3; do
  command -v "$needed" >/dev/null || skip "no $needed"
done
if [[ -n $architecture || " ${chosen[*]} " == *" deb "* ]]; then
  reason=$("$root/launcher/bare.sh" --why-not)
  [[ -z $reason ]] || skip "$reason"
fi

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
train=(train --dataset synthetic --synthetic-shape 1x12x12 --samples 512 --model mlp:16 --batch-size 64 --epochs 2
  --device cpu --threads 1 --run-dir none)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# An environment without variables of this machine, but with an mpirun.
clean=(env -i HOME="$work" PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
expected=$(digest "$(run_built "${train[@]}" 2>/dev/null)")
version=$(run_built --version | sed -n 's/^lockstep //p')

# trains COMMAND...: trains with `lockstep` and `lockstep-run`, which are appended to COMMAND.
trains() {
  local launcher found
  for launcher in "lockstep" "lockstep-run -np 2"; do
    # shellcheck disable=SC2086  # words
    found=$(digest "$("$@" $launcher "${train[@]}" 2>"$work/error")")
    [[ -n $expected && $found == "$expected" ]] ||
      wrong "$launcher: '$found' instead of '$expected': $(tail -n 3 "$work/error")"
  done
}

# fresh_system: installs a Debian for the packages' processor in $work/debian.
fresh_system() {
  [[ -e $work/fresh ]] ||
    "$root/launcher/bare.sh" ${architecture:+--architecture "$architecture"} --system "$work/fresh" >"$work/log" 2>&1 ||
    wrong "$(tail "$work/log")"
  rm -rf --one-file-system "$work/debian"
  cp -a --reflink=auto "$work/fresh" "$work/debian"
}
# shellcheck disable=SC2016  # of the inner shell
inside=(unshare --mount --propagation private --pid --fork --kill-child bash -c '
  mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 http_proxy="${http_proxy-}" \
      https_proxy="${https_proxy-}" "${@:2}"' bash "$work/debian")
# install_inside PACKAGE...: installs packages with apt-get in the fresh system.
install_inside() {
  "${inside[@]}" sh -c 'apt-get -q update && apt-get -q -y install --no-install-recommends "$@"' sh "$@" \
    >"$work/log" 2>&1 </dev/null || wrong "$(tail "$work/log")"
}

wheel() {
  cmake --build "$build" --target wheel >"$work/log" 2>&1 || wrong "$(tail "$work/log")"
  local at=("${clean[@]}") top='' folder=$work file python
  python=$(command -v python3)
  if [[ -n $architecture ]]; then
    at=("${inside[@]}") top=$work/debian folder=/root python=python3
    fresh_system
    install_inside python3-venv
  fi
  file=$(basename "$build"/lockstep-*.whl)
  cp "$build/$file" "$top$folder/"
  "${at[@]}" "$python" -m venv "$folder/venv"
  "${at[@]}" "$folder/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$folder/$file"
  trains "${at[@]}" env "PATH=$folder/venv/bin:/usr/bin:/bin"
  "${at[@]}" "$folder/venv/bin/pip" uninstall --quiet --yes lockstep
  [[ ! -e $top$folder/venv/bin/lockstep ]]
}

pack() { # cpack's generator
  cpack --config "$build/CPackConfig.cmake" -G "$1" -B "$work" >"$work/log" 2>&1 || wrong "$(tail "$work/log")"
}

archive() {
  pack TZST
  mkdir "$work/archive"
  zstd -dc "$work"/*.tar.zst | tar -C "$work/archive" --strip-components=1 -x
  trains "${clean[@]}" env "PATH=$work/archive/usr/bin:/usr/bin:/bin"
  local file
  for file in bin/lockstep-srun lib/liblockstep.a include/lockstep/trainer.h share/man/man1/lockstep-train.1 \
    share/bash-completion/completions/lockstep-run share/zsh/site-functions/_lockstep share/doc/lockstep/copyright \
    share/lockstep/slurm/train.sbatch share/lockstep/deploy/kubernetes/jobset.yaml; do
    [[ -s $work/archive/usr/$file ]] || wrong "no usr/$file"
  done
}

deb() {
  pack DEB
  fresh_system
  cp "$work"/lockstep_*.deb "$work/debian/root/"
  install_inside "/root/$(basename "$work"/lockstep_*.deb)"
  trains "${inside[@]}"
  # shellcheck disable=SC2016  # dpkg-query's
  equal version "$("${inside[@]}" dpkg-query --show --showformat='${Version}' lockstep)" "$version"
  "${inside[@]}" dpkg --remove lockstep >/dev/null
  [[ ! -e $work/debian/usr/bin/lockstep ]]
}

after_case() { :; }
run_cases
