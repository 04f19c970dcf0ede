#!/usr/bin/env bash
# Entry point of the image.
#   docker run IMAGE train ...                  one rank
#   docker run IMAGE lockstep-run -np 2 train   several ranks; mpirun works as well
set -euo pipefail

# mpirun refuses root by default; with `docker run --user 0`, root is the user's choice.
if [[ $EUID -eq 0 ]]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

# A program of the image is run as given; anything else is passed to lockstep.
if [[ $# -gt 0 && $1 != -* ]] && type -P -- "$1" >/dev/null; then exec "$@"; fi
exec lockstep "$@"
