#!/usr/bin/env bash
# Runs in the last stage of an image: installs the packages that build.sh listed, and adds the user.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

apt-get update
DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends <"$here/packages.txt"
rm -rf /var/lib/apt/lists/* "$here"

# Images of Ubuntu have a user with this number.
if taken=$(getent passwd 1000); then userdel --remove "${taken%%:*}"; fi
useradd --create-home --uid 1000 lockstep
install -d -o lockstep /workspace
