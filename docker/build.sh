#!/usr/bin/env bash
# Runs in the first stage of an image.
#   docker/build.sh packages GROUP...             installs packages of launcher/packages.txt; with nvcc, cudnn-frontend
#   docker/build.sh program [OPTION-OF-CMAKE...]  builds lockstep; collects in /image what the last stage needs
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../launcher/common.sh"

# libraries_of PROGRAM...: prints the packages of the libraries that programs load. Their names differ between Debian,
# Ubuntu and their versions.
libraries_of() {
  ldd "$@" | awk '$2 == "=>" { sub(".*/", "", $3); print "*/" $3 }' | sort -u | xargs dpkg-query -S | cut -d: -f1 |
    sort -u
}

packages() {
  install_packages "$@"
  install_cudnn_frontend
  # The log is lost with the container.
  if [[ -s $logs/cudnn-frontend.log && ! -d $root/build/cudnn-frontend ]]; then die "$(cat "$logs/cudnn-frontend.log")"; fi
}

program() {
  local built=$root/build/release
  (cd "$root" && cmake --preset release "$@" && cmake --build --preset release --target lockstep lockstep-run)
  install -D --strip --target-directory /image/usr/local/bin "$built/lockstep" "$built/lockstep-run"
  install --target-directory /image/usr/local/bin "$root/docker/entrypoint.sh"
  install -D --target-directory /image/install "$root/docker/install.sh"
  { libraries_of "$built/lockstep" "$built/lockstep-run" && packages_of runtime data; } >/image/install/packages.txt
}

"$@"
