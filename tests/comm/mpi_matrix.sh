#!/usr/bin/env bash
# Builds lockstep with each installed MPI library except the default one, in build/mpi-NAME, runs the tests of
# communication with it, and trains on 1, 2 and 3 ranks, which must end with one digest. NAME is the suffix of Debian's
# mpicc.NAME and mpiexec.NAME: openmpi, mpich. The last line is "N of N passed"; the status is 77 if there is no other
# library.
#   tests/comm/mpi_matrix.sh [NAME...]   default: all except the library of mpicc
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
names=("$@")
case ${1-} in
  -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d' && exit ;;
  "")
    default=$(readlink -f "$(command -v mpicc)" || true)
    for compiler in /usr/bin/mpicc.*; do
      [[ ! -x $compiler || $(readlink -f "$compiler") == "$default" ]] || names+=("${compiler##*.}")
    done
    ;;
esac
if [[ ${#names[@]} -eq 0 ]]; then
  echo "skipped: no other MPI library; apt-get install --no-install-recommends mpich libmpich-dev"
  exit 77
fi
for name in "${names[@]}"; do
  for program in "mpicc.$name" "mpiexec.$name"; do
    command -v "$program" >/dev/null || { echo "mpi_matrix.sh: error: no program $program" >&2 && exit 4; }
  done
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

digest() { # RANKS
  local start=(env)
  [[ $1 -eq 0 ]] || start=("mpiexec.$name" -n "$1")
  [[ $name != openmpi ]] || start+=(--oversubscribe --bind-to none)
  "${start[@]}" "$build/lockstep" train --dataset synthetic --synthetic-shape 1x28x28 --samples 512 --model lenet \
    --batch-size 64 --epochs 2 --device cpu --threads 1 --run-dir none --quiet 2>>"$build.log" |
    grep -o 'xxh3:[0-9a-f]*'
}

# Prints what is wrong, or nothing if all checks pass.
check() {
  {
    cmake -S "$root" -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_UNITY_BUILD=ON -D LOCKSTEP_TESTS=ON \
      -D LOCKSTEP_CUDA=OFF -D MPI_C_COMPILER="$(command -v "mpicc.$name")" \
      -D MPIEXEC_EXECUTABLE="$(command -v "mpiexec.$name")" &&
      cmake --build "$build" --target lockstep comm_test ranks_test failures_mpi
  } >"$build.log" 2>&1 || { tail -n 20 "$build.log" && return; }
  ctest --test-dir "$build" --no-tests=error --output-on-failure -R '^comm(_|$)|^ranks_[0-9]' -E emulated \
    >>"$build.log" 2>&1 || tail -n 40 "$build.log"
  local ranks expected found
  expected=$(digest 0) || true
  for ranks in 1 2 3; do
    found=$(digest "$ranks") || true
    [[ -n $expected && $found == "$expected" ]] || echo "$ranks ranks: digest '$found' instead of '$expected'"
  done
  [[ $name != mpich ]] || grep -q '^Requires: mpich ' "$build/lockstep.pc" || echo "lockstep.pc requires another MPI"
}

passed=0
for name in "${names[@]}"; do
  build=$root/build/mpi-$name
  mkdir -p "$(dirname "$build")"
  started=$SECONDS
  printf '%-28s' "$name"
  problems=$(check 2>&1)
  if [[ -z $problems ]]; then
    passed=$((passed + 1))
    printf '%4d s  %s\n' $((SECONDS - started)) "$("$build/lockstep" --version | sed -n 's/^MPI *//p')"
  else
    printf '%4d s  FAILED\n%s\n' $((SECONDS - started)) "$problems"
  fi
done
echo "$passed of ${#names[@]} passed"
((passed == ${#names[@]}))
