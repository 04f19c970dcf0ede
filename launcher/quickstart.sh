#!/usr/bin/env bash
# Installs missing packages, builds and installs lockstep, and trains LeNet with two ranks, on a fresh Debian 12 or 13.
# Can be interrupted and run again. Takes two to four minutes the first time; later runs only train.
#   launcher/quickstart.sh [--no-packages] [--prefix DIR] [--cuda] [options of lockstep train, e.g. --epochs 2]
#   --no-packages  install no packages
#   --prefix DIR   install lockstep to DIR/bin; default: /usr/local for root, ~/.local for other users
#   --cuda         build for GPUs on a machine without one, if nvcc is installed; default on a machine with a GPU
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=true
cuda=false
prefix=$([[ $EUID -eq 0 ]] && echo /usr/local || echo "$HOME/.local")
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) print_help && exit 0 ;;
    --no-packages) packages=false ;;
    --prefix) [[ $# -ge 2 ]] || die "--prefix needs a folder" && prefix=$2 && shift ;;
    --cuda) cuda=true ;;
    *) break ;;
  esac
  shift
done

# Looks for a GPU. Compiling for GPUs takes longer than everything else, so it is skipped without one.
if compgen -G '/dev/nvidia[0-9]*' >/dev/null || [[ -e /dev/dxg ]]; then cuda=true; fi
release=$root/build/release
if $cuda; then
  # A folder that was configured without CUDA is configured again.
  if grep -qs '^LOCKSTEP_CUDA:[A-Z]*=OFF' "$release/CMakeCache.txt"; then rm -f "$release/build.ninja"; fi
else
  configure_options=(-D LOCKSTEP_CUDA=OFF)
fi

if $packages; then
  install_packages build data
  if $cuda; then install_cudnn_frontend; fi
fi
stage "build" build_preset release lockstep lockstep-run || exit 1
stage "install to $prefix" cmake --install "$release" --prefix "$prefix" || exit 1

number=1  # of the first unused name, so that no run is overwritten
while [[ -e $root/runs/quickstart-$number ]]; do number=$((number + 1)); done
run=$root/runs/quickstart-$number
command=(-np 2 train --model lenet --dataset fashion-mnist --epochs 10 --batch-size 256 --lr 0.2
  --run-dir "$run" "$@")
# The CPU is the default here: the digest is then the one in README.md, on any machine.
[[ " $*" == *" --device"* ]] || command+=(--device cpu)
say "launcher/lockstep-run ${command[*]}"
status=0
"$launcher/lockstep-run" "${command[@]}" </dev/null || status=$?
if [[ $status -eq 0 ]]; then say "run directory $run"; fi
if [[ $(command -v lockstep || true) != "$prefix/bin/lockstep" ]]; then
  say "to call lockstep by its name:  export PATH=$prefix/bin:\$PATH"
fi
exit "$status"
