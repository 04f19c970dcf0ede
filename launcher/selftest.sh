#!/usr/bin/env bash
# Runs all checks that a change must pass: formatting, scripts, lint, tests, sanitizers, fuzzing. Installs what it
# needs. The last line is "N passed, M failed"; the exit status is 0 if M is 0.
#   launcher/selftest.sh [--quick|--long|--deploy] [--bare[=SECONDS]] [--no-packages]
#   --quick        build and tests only
#   --bare         after that, build and tests in a fresh Debian 12 (launcher/bare.sh), if one can be made here.
#                  SECONDS: when this script has to end; what has not ended by then is stopped and not counted
#   --long         only the checks that take long, with the result appended to build/logs/long.txt: digests that
#                  README and docs show, many ranks with several threads each, a build without precompiled headers,
#                  a minute of fuzzing per reader; a build for 64-bit ARM, its tests, its packages and image on qemu
#   --deploy       only what needs more than this program: a private Slurm of two nodes, containers by Podman, hosts in
#                  namespaces. The result is appended to build/logs/deploy.txt; what is not installed is skipped by name
#   --no-packages  install nothing
set -euo pipefail
# shellcheck source=launcher/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

passed=0
failed=0
skipped=''  # names of tests
ended=false

# The closing line is printed after an interruption or an error of this script too. It goes to the script's standard
# output, not to the log of the stage that was interrupted.
exec 3>&1
closing_line() {
  if ! $ended; then
    failed=$((failed + 1))
    say "" >&3  # ends the line of the interrupted stage
  fi
  say "$passed passed, $failed failed" >&3
}

# check NAME COMMAND...: a stage that counts as one check. Returns the command's status.
check() {
  if stage "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    return 1
  fi
}

# tests NAME PRESET [OPTION...]: runs ctest with several tests at once, more than there are cores, since many wait for
# processes that they start. Each test counts as one check, and a skipped one as none. With --verbose, says why.
tests() {
  local name=$1 preset=$2 log=$logs/${1%% *}.log status=0 total bad names
  shift 2
  stage "$name" without_aslr ctest --test-dir "$root/build/$preset" --parallel $(($(nproc) * 3 / 2)) --no-tests=error \
    --output-on-failure "$@" ||
    status=$?
  read -r bad total < <(sed -n 's/.*, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log") ||
    { bad=1 total=1; }
  # ctest can fail without a failed test, when a test could not be run.
  if [[ $status -ne 0 && $bad -eq 0 ]]; then bad=1; fi
  mapfile -t names < <(sed -n 's/.* Test *#[0-9]*: \([^ ]*\) .*\*\*\*Skipped.*/\1/p' "$log")
  passed=$((passed + total - bad - ${#names[@]}))
  failed=$((failed + bad))
  skipped+=${names[*]:+"${names[*]} "}
  sed -n 's/^[0-9]*: skipped: /skipped: /p' "$log"
}

# Tracked and new files whose names match, NUL-separated.
files() {
  git -C "$root" ls-files -z --cached --others --exclude-standard -- "$@"
}

formatting() {
  cd "$root" && files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -0 -r clang-format --dry-run -Werror
}

scripts() {
  cd "$root" && files '*.sh' '*.sbatch' launcher/lockstep-run launcher/slurm/lockstep-srun launcher/bundle/start .ci/run |
    xargs -0 -r shellcheck -x
}

# Examines what the asan preset compiles, whose compiler is Clang. tests/CMakeLists.txt joins sources and tests in
# build/asan/joined, so that headers are examined a few times only. CUDA sources are examined as the emulated GPU
# compiles them, since Clang 14 does not know CUDA 13.
lint() {
  cd "$root" && run-clang-tidy -quiet -p build/asan -j "$(jobs_at_once)" /joined/lint 2>&1 |
    { grep -vE '^clang-tidy|^[0-9]+ warnings generated|^Suppressed|^Use -header-filter' || true; }
}

lint_and_sanitizers() {
  # The last one: the leak checker of Clang 14 guesses the bounds of thread-local storage of libraries that are loaded
  # later; where such a block begins 16 bytes into a page, it reads wild addresses and crashes.
  local asan=detect_stack_use_after_return=1:strict_string_checks=1:intercept_tls_get_addr=0
  asan+=:malloc_context_size=8  # of 30 frames, unwinding takes two thirds of the time of tests that allocate much
  # The other build has all simulated crashes and flipped bits; these few take the same paths through the code.
  if check "asan-build" build_preset asan unit_tests lint_files fuzz; then
    check "lint" lint || true
    ASAN_OPTIONS=$asan TEST_CRASHES=3 TEST_BIT_FLIPS=300 \
      LSAN_OPTIONS=suppressions=$root/tests/sanitizers/leaks.txt:print_suppressions=0 \
      UBSAN_OPTIONS=print_stacktrace=1 tests "asan-tests (memory, undefined behaviour)" asan -L unit
  fi
  if check "tsan-build" build_preset tsan thread_tests; then
    TSAN_OPTIONS=suppressions=$root/tests/sanitizers/races.txt \
      tests "tsan-tests (data races)" tsan -L threads
  fi
}

quick_checks() {
  if check "build" build_preset test; then tests "tests" test -LE 'long|deploy'; fi
}

all_checks() {
  check "format" formatting || true
  check "scripts" scripts || true
  quick_checks
  bare_takes=$((SECONDS * 9 / 10))  # CUDA's compiler is not there
  lint_and_sanitizers
  check "fuzz" "$launcher/fuzz.sh" || true
}

# Build and tests in a fresh Debian, where nothing is installed that this machine happens to have. Its checks count too.
bare_debian() {
  local reason status=0 good bad
  reason=$("$launcher/bare.sh" --why-not)
  if [[ -n $reason ]]; then
    say "bare: skipped, as no fresh Debian can be made here: $reason"
    return
  fi
  if [[ $((SECONDS + bare_takes)) -ge $bare_until ]]; then
    say "bare: skipped, as the other checks took $SECONDS s of $bare_until, and it takes about $bare_takes"
    return
  fi
  stage "bare (build and tests in a fresh Debian)" \
    timeout --kill-after=60 $((bare_until - SECONDS)) "$launcher/bare.sh" --quick || status=$?
  case $status in
    4) say "bare: skipped, as no Debian could be installed; see $logs/bare.log" && return ;;
    124) say "bare: stopped, as the time of all checks was up; see $logs/bare.log" && return ;;
  esac
  read -r good bad < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$logs/bare.log" | tail -n 1) ||
    { good=0 bad=1; }
  if [[ $status -ne 0 && $bad -eq 0 ]]; then bad=1; fi
  passed=$((passed + good))
  failed=$((failed + bad))
}

# Checks that every source includes what it uses: compiles each alone, without precompiled headers.
includes() {
  cmake -S "$root" -B "$root/build/includes" -G Ninja -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 \
    -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON -D LOCKSTEP_TESTS=ON -D LOCKSTEP_CUDA=OFF -D LOCKSTEP_X86_LEVELS=avx2 &&
    cmake --build "$root/build/includes" --parallel "$(jobs_at_once)"
}

# A build for 64-bit ARM on x86-64. Runs on qemu must end with the digests of x86-64.
arm64_checks() {
  if $packages; then install_packages arm64; fi
  if check "arm64-sysroot" "$launcher/arm64-sysroot.sh" && check "arm64-build" build_preset arm64 arm64_tests; then
    tests "arm64-tests (on qemu)" arm64 -L arm64 --verbose
  fi
}

long_checks() {
  if check "build" build_preset test; then tests "long-tests" test -L long; fi
  check "includes" includes || true
  check "fuzz" "$launcher/fuzz.sh" 60 || true
  if [[ $(uname -m) == x86_64 ]]; then arm64_checks; fi
  record long.txt
}

# record FILE: appends a line with the result.
record() {
  mkdir -p "$logs" && printf '%s  %s  %d passed, %d failed, %d s%s\n' "$(date -u +%FT%TZ)" \
    "$(git -C "$root" rev-parse --short HEAD)" "$passed" "$failed" "$SECONDS" "${skipped:+, skipped: ${skipped% }}" \
    >>"$logs/$1"
}

deploy_checks() {
  if check "build" build_preset test lockstep lockstep-run bundle bundle-data; then
    tests "deploy" test -L deploy --verbose --parallel 1
  fi
  record deploy.txt
}

checks=all_checks
bare_until=0
bare_takes=0  # seconds, estimated from the build and the tests here
packages=true
for option in "$@"; do
  case $option in
    -h | --help) print_help && exit 0 ;;
    --quick) checks=quick_checks ;;
    --long) checks=long_checks ;;
    --deploy) checks=deploy_checks ;;
    --bare) bare_until=86400 ;;
    --bare=*) bare_until=${option#*=} ;;
    --no-packages) packages=false ;;
    *) die "unknown option $option; see --help" ;;
  esac
done

trap closing_line EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
if [[ $EUID -eq 0 ]]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
if $packages; then
  install_packages build data test
  install_cudnn_frontend
fi
# Without a GPU, kernels are compiled to PTX of the oldest type of GPU only, which takes less time than code of the
# default types. Tests interpret PTX of sm_90, and compile it to code.
if [[ ! -e /dev/nvidiactl ]]; then export CUDAARCHS=${CUDAARCHS:-80-virtual}; fi
"$checks"
if [[ $bare_until -gt 0 ]]; then bare_debian; fi
ended=true
[[ $failed -eq 0 ]]
