# Functions shared by the scripts of this folder, which source this file.
# shellcheck shell=bash

lockstep=${LOCKSTEP:-build/release/lockstep}
python=${PYTHON:-python3}

# Prints the comment at the beginning of the script.
print_help() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }

fail() {
  echo "${0##*/}: $*" >&2
  exit 2
}

# Exits with an error unless lockstep and the Python packages exist; creates the folder $work, removed at exit.
prepare() { # Python packages
  [[ -x $lockstep ]] ||
    fail "$lockstep does not exist; build it: cmake --preset release && cmake --build --preset release"
  "$python" -c "import $1" 2>/dev/null ||
    fail "$python has no $1: $python -m pip install -r bench/peers/requirements.txt"
  export LOCKSTEP_RUN_DIR=none
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
}

# Runs a command and redirects its output to a file. Prints the file if the command fails.
quietly() { # file command...
  local log=$1
  shift
  "$@" >"$log" 2>"$log.err" || {
    cat "$log" "$log.err" >&2
    echo "${0##*/}: failed: $*" >&2
    return 1
  }
}

# Runs lockstep on some ranks, with its output in $work/log.
on_ranks() { # ranks argument...
  quietly "$work/log" mpirun --oversubscribe --bind-to none -np "$1" "$lockstep" "${@:2}"
}

# Prints the images/s of the last epoch from a file with a program's output.
speed() { sed -n 's|^\(.* \)\{0,1\}\([0-9.]*\) img/s$|\2|p' "$1" | tail -n 1; }

# Prints the median of the numbers on stdin, or a dash if there are none.
middle() { # format
  sort -n | awk -v format="$1" '{v[NR] = $1}
    END {if (NR == 0) print "-"; else printf format "\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
median() { middle "${2:-%.0f}" <"$work/$1"; } # name [format]
# Prints the median of the ratios of single rounds: other load on the machine changes little within a round.
ratio() { paste "$work/$1" "$work/$2" | awk 'NF == 2 {print $1 / $2}' | middle '%.2f'; }
# Appends the largest last-round figure of the given names to the figures of the target.
add_best() { # target name...
  local target=$1 name
  shift
  for name in "$@"; do tail -n 1 "$work/$name"; done | sort -n | tail -n 1 >>"$work/$target"
}

# Measures one round of each name. The script must define `measure NAME`, which prints images/s.
measure_round() { # label name...
  local label=$1 name
  shift
  for name in "$@"; do
    measure "$name" >"$work/figure"
    [[ -s $work/figure ]] || fail "$name printed no speed"
    cat "$work/figure" >>"$work/$name"
    echo "$label  $name  $(cat "$work/figure") img/s" >&2
  done
}

machine() {
  sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1
  echo "$(nproc) cores"
  awk '/^MemTotal/ {printf "%.0f GB of memory\n", $2 / 1e6}' /proc/meminfo
  sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release
  c++ --version | head -n 1
  mpirun --version | head -n 1
  "$python" -c 'import torch; print("PyTorch", torch.__version__)'
}

# Prints the line above a table.
conditions() {
  echo "$(date -u +%F): $(machine | paste -sd ',' | sed 's/,/, /g'). Medians of all rounds; a ratio is the median of the rounds' ratios."
  echo
}

# Writes $work/table to docs/performance.md, between the begin and end marks of the running script.
write_table() {
  awk -v file="$work/table" -v script="${0##*/}" '
    $0 == "<!-- " script " begin -->" {print; print ""; while ((getline line < file) > 0) print line; print ""; inside = 1; next}
    $0 == "<!-- " script " end -->" {inside = 0}
    !inside {print}' docs/performance.md >"$work/page"
  cp "$work/page" docs/performance.md
}
