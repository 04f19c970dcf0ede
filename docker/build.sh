#!/usr/bin/env bash
# Runs in the first stage of an image. Both steps build nothing if the archives of the targets bundle and bundle-data are
# in docker/archives: lockstep-*.tar.gz, made on a system whose C library is not newer than the image's.
#   docker/build.sh packages GROUP...             installs packages of launcher/packages.txt; with nvcc, cudnn-frontend
#   docker/build.sh program [OPTION-OF-CMAKE...]  makes /image, which the last stage copies to its root
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../launcher/common.sh"

archives() { find "$@" -maxdepth 1 -name 'lockstep-*.tar.gz' 2>/dev/null || true; }

packages() {
  install_packages "$@"
  install_cudnn_frontend
  # The log is lost with the container.
  if [[ -s $logs/cudnn-frontend.log && ! -d $root/build/cudnn-frontend ]]; then die "$(cat "$logs/cudnn-frontend.log")"; fi
}

program() {
  local built=$root/docker/archives archive program
  if [[ -z $(archives "$built") ]]; then
    built=$root/build/release
    (cd "$root" && cmake --preset release "$@" && cmake --build --preset release --target bundle bundle-data)
  fi
  mkdir -p /image/opt/lockstep /image/usr/local/bin /image/usr/share/datasets
  while read -r archive; do
    # The tests of the GPU are for launcher/gpu-check.sh.
    tar -xzf "$archive" -C /image/opt/lockstep --strip-components=1 --no-same-owner --exclude='*_gpu_test' \
      --exclude='gpu-check*'
  done < <(archives "$built")
  for program in lockstep lockstep-run lockstep-srun mpirun orted; do
    ln -s "/opt/lockstep/bin/$program" /image/usr/local/bin/
  done
  ln -s /opt/lockstep/data/fashion-mnist /image/usr/share/datasets/
  install --mode=755 "$root/docker/entrypoint.sh" /image/usr/local/bin/
}

if [[ $1 == packages && -n $(archives "$root/docker/archives") ]]; then exit; fi
"$@"
