#!/bin/sh
# Entry point of the image. Arguments are those of lockstep, unless they begin with the name of a program:
#   docker run IMAGE train ...                  one rank
#   docker run IMAGE lockstep-run -np 2 train   several ranks; mpirun works as well
set -eu
case ${1:-} in
  lockstep | lockstep-* | mpirun) exec "$@" ;;
  *) exec lockstep "$@" ;;
esac
