# Stages of gpu-check.sh: the function stage_NAME runs commands, each as a case that passes or fails, and records figures.
# Figures are taken from what commands print with --json (docs/json.md) and from metrics.jsonl of runs.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of gpu-check.sh

python=${PYTHON:-python3}
export LOCKSTEP_RUN_DIR=none
# Sizes. Synthetic images of the same shape suffice where accuracies do not matter.
small=lenet large=resnet18-d2l batch=256 images=60000 shape=1x28x28 epochs=10
steps_small=2000 steps_large=200 steps_events=20 steps_digest=40 steps_loss=100 rounds=10
doctor_options=()
if [[ -n $rehearse ]]; then
  large=mlp:16 batch=8 images=64 shape=1x16x16 epochs=1 data_dir=
  steps_small=2 steps_large=2 steps_events=2 steps_digest=2 steps_loss=4 rounds=1
  doctor_options=(--self-test=false)
fi
synthetic=(--dataset synthetic --synthetic-shape "$shape" --samples "$images")
data=("${synthetic[@]}")
if [[ -n $data_dir ]]; then
  data=(--dataset fashion-mnist --data-dir "$data_dir")
  export FASHION_MNIST=$data_dir
fi
on_host=("$mpirun" --quiet --oversubscribe --bind-to none)
cases=0
failed=0
first_failure=

# Runs a stage, and ends with status 0 if all its cases passed, 77 if there was nothing to do, else 1. The reason, if
# any, is in logs/reason.
perform() { # stage deadline
  logs=$output/logs/$1 deadline=$2
  rm -rf "${logs:?}" && mkdir -p "$logs"
  trap '[[ -z $child ]] || kill "$child"; exit 143' TERM
  set +e
  "stage_$1"
  if ((failed > 0)); then
    because "$failed of $cases failed, first $first_failure"
  elif ((unrecorded > 0)); then
    because "$unrecorded entries could not be recorded; logs/$1.log says why"
  elif ((cases == 0)); then
    skip "nothing was run"
  fi
  exit $((failed > 0 || unrecorded > 0))
}
because() { printf '%s' "$*" >"$output/logs/reason"; }
skip() { because "$*" && exit 77; }

fact() { [[ -z $2 ]] || record fact "$1" "$2"; }  # name value
# Records a figure, unless the value is not a number because nothing was measured.
figure() { # name value [unit]
  if [[ $2 =~ ^-?[0-9.]+(e[-+]?[0-9]+)?$ ]]; then record figure "$1" "$2" "${3:-}"; else echo "no figure $1: $2"; fi
}
calculate() { awk "BEGIN {printf \"%.4g\", $1}"; }
# Records a member of the JSON document in $log, times a factor, as a figure.
figure_of() { # name member factor unit
  local value
  value=$(member "$log" "$2")
  figure "$1" "$([[ ${value:-null} == null ]] || calculate "$value * $3")" "$4"
}
quotient() { # name over under
  local over under
  over=$(recorded "$2") under=$(recorded "$3")
  figure "$1" "$([[ -z $over || -z $under ]] || calculate "$over / $under")"
}
# Prints a member of the document in a log.
member() { sed -n "/^  \"$2\": /{s/^[^:]*: //;s/,\$//;s/^\"\(.*\)\"\$/\1/;p}" "$1"; } # log member
# Prints the value of a member from each event of a kind in the metrics.jsonl of a run.
values_of() { sed -n "s/.*\"event\":\"$2\".*\"$3\":\([-+.0-9e]*\).*/\1/p" "$1/metrics.jsonl"; } # run-directory event member
digest_of() { sed -n 's/^digest \(xxh3:[0-9a-f]*\).*/\1/p' "$1"; }

# Runs a command, and ends it after this many seconds, or at the end of the stage.
limited() { # seconds command...
  local seconds=$1 left=$((deadline - EPOCHSECONDS)) status=0
  shift
  seconds=$((seconds < left ? seconds : left))
  if ((seconds > ${GPU_CHECK_CASE_LIMIT:-seconds})); then seconds=$GPU_CHECK_CASE_LIMIT; fi
  ((seconds > 0)) || return 124
  timeout -k 2 "$seconds" "$@" &
  child=$!
  wait "$child" || status=$?
  child=
  return "$status"
}
log_of() { printf '%s/%s.log\n' "$logs" "${1//[^A-Za-z0-9.-]/_}"; } # case
# Prints why a command failed: what ended it, the program's error, the failed tests, or the last line.
why() { # status log
  case $1 in
    124 | 137) echo "took too long" ;;
    13[0-9] | 14[0-9]) echo "ended by signal $(kill -l $(($1 - 128)))" ;;
    *) { grep -h 'error: ' "$2" || grep -h '^\[  FAILED  \]' "$2" || grep -h . "$2" || echo "no output"; } | tail -n 1 | cut -c -300 ;;
  esac
}
# Records a case. An empty reason means that it passed.
verdict() { # case seconds reason
  cases=$((cases + 1))
  printf '%-50s %s s  %s\n' "$1" "$2" "${3:-passed}"
  if [[ -z $3 ]]; then
    record case "$1" passed "$2" ""
  else
    failed=$((failed + 1))
    first_failure=${first_failure:-"$1: $3"}
    record case "$1" failed "$2" "$3"
  fi
}
not_run() { record case "$1" skipped 0 "$2"; } # case reason
# Runs a command as a case, with its output in $log. Returns its status.
attempt() { # case seconds command...
  local name=$1 seconds=$2 status=0 began=$EPOCHREALTIME reason=
  shift 2
  log=$(log_of "$name")
  printf '$ %s\n' "$*" >"$log"
  limited "$seconds" "$@" >>"$log" 2>&1 || status=$?
  if ((status != 0)); then reason=$(why "$status" "$log"); fi
  verdict "$name" "$(calculate "$EPOCHREALTIME - $began")" "$reason"
  return "$status"
}
# Runs lockstep on ranks of this host as a case.
attempt_on_ranks() { # case seconds ranks arguments...
  if [[ -z $mpirun ]]; then
    not_run "$1" "no mpirun"
    return 1
  fi
  attempt "$1" "$2" "${on_host[@]}" -np "$3" "$lockstep" "${@:4}"
}

# --- what works, as the stage smoke found ---

need_gpu() {
  case $(recorded cuda_graph) in
    on | off) ;;
    none) skip "no step could be made on a GPU" ;;
    *) skip "the stage smoke has not run" ;;
  esac
}
works() { [[ " $(recorded works) " == *" $1/$2/$3 "* ]]; } # model type on|off
# Makes the following commands use CUDA graphs if they work with this model and type. Records the case as not run, and
# returns 1, if nothing does.
use() { # case model type
  local graph
  for graph in on off; do
    if works "$2" "$3" "$graph"; then
      export LOCKSTEP_CUDA_GRAPH=$graph
      return
    fi
  done
  not_run "$1" "$2 does not work in $3"
  return 1
}
number_of_gpus() { recorded gpus | awk '$1 > 0 {n = $1} END {print n ? n : 1}'; }

stage_machine() {
  fact host "$(uname -n)"
  fact system "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
  fact kernel "$(uname -r)"
  fact processor "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
  fact cores "$(nproc)"
  fact memory_gb "$(awk '/^MemTotal/ {printf "%.0f", $2 / 1e6}' /proc/meminfo)"
  attempt "lockstep --version" 10 "$lockstep" --version && fact lockstep "$(tail -n 1 "$log")"
  [[ -z $mpirun ]] || fact mpi "$("$mpirun" --version | head -n 1)"
  command -v nvidia-smi >/dev/null || skip "no nvidia-smi: is the NVIDIA driver installed?"
  attempt "nvidia-smi" 10 nvidia-smi -q || return
  fact driver_cuda "$(sed -n 's/^CUDA Version *: *//p' "$log")"
  fact gpus "$(limited 5 nvidia-smi -L | wc -l)"
  local name
  for name in name driver_version memory.total clocks.max.sm clocks.max.mem power.limit pcie.link.gen.max compute_mode \
    mig.mode.current ecc.mode.current persistence_mode; do
    fact "gpu_$name" "$(limited 5 nvidia-smi --query-gpu="$name" --format=csv,noheader,nounits | head -n 1)"
  done
  if (($(number_of_gpus) > 1)); then attempt "topology" 10 nvidia-smi topo -m; fi
}

stage_doctor() {
  attempt "doctor" 40 "$lockstep" doctor --json --device cuda "${data[@]}" "${doctor_options[@]}"
  local name
  for name in cuDNN NCCL; do
    fact "${name,,}" "$(sed -n "/\"name\": \"$name\"/{n;s/.*\"value\": \"\(.*\)\",/\1/p}" "$log")"
  done
}

# Trains for two steps in each combination: one that fails ends no other. The fact `works` lists the combinations that do,
# and `cuda_graph` is on, off (where only that works), or none; both are up to date whenever the stage is ended.
stage_smoke() {
  local model graph type works='' bad=()
  fact cuda_graph none
  for model in "$small" "$large"; do
    for graph in off on; do
      for type in fp32 tf32 bf16; do
        set_short_run "$model" "$type" "$graph"
        if attempt "$model $type graph $graph" 45 "${short_run[@]}"; then
          works+="$model/$type/$graph "
          fact works "$works"
          fact cuda_graph "$([[ $works == */on\ * ]] && echo on || echo off)"
        else
          bad+=("$model $type $graph")
        fi
      done
    done
  done
  local combination
  for combination in "${bad[@]:0:2}"; do
    read -r model type graph <<<"$combination"
    diagnose "$model" "$type" "$graph"
  done
}
# Sets short_run to a command that trains for two steps, and evaluates.
set_short_run() { # model type on|off
  short_run=("$lockstep" train --device cuda --model "$1" --dtype "$2" --cuda-graph "$3" --dataset synthetic
    --synthetic-shape "$shape" --samples $((2 * batch)) --batch-size "$batch" --epochs 1)
}
# Repeats a short run that failed, with the logs of cuDNN and, if installed, memcheck.
diagnose() { # model type on|off
  local name="$1 $2 graph $3" details
  set_short_run "$@"
  details=$(log_of "$name details")
  limited 20 env CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stderr CUDNN_FRONTEND_LOG_INFO=1 \
    CUDNN_FRONTEND_LOG_FILE=stderr CUDA_LAUNCH_BLOCKING=1 "${short_run[@]}" >"$details" 2>&1
  tail -c 300000 "$details" >"$details.tail" && mv "$details.tail" "$details"
  command -v compute-sanitizer >/dev/null || return 0
  limited 40 compute-sanitizer --tool memcheck --target-processes all "${short_run[@]}" >"$(log_of "$name memcheck")" 2>&1
}

# Measures steps. Records time, images/s, seconds to the first step, and the host's share of a core.
bench_step() { # name model type steps option...
  use "$1" "$2" "$3" || return
  attempt "$1" 40 "${launch[@]}" "$lockstep" bench step --json --device cuda --model "$2" --dtype "$3" "${data[@]}" \
    --batch-size "$batch" --steps "$4" "${@:5}" || return
  figure_of "${1}_us" step_seconds 1e6 us/step
  figure_of "${1}_img_s" images_per_s 1 img/s
  figure_of "${1}_first_step_s" first_step_seconds 1 s
  figure_of "${1}_host_cpu" host_share 100 "% of a core"
}
launch=()
stage_headline() {
  need_gpu
  local type micro_batches
  bench_step resnet18_bf16 "$large" bf16 "$steps_large" --micro-batches 1 &&
    figure_of resnet18_bf16_epoch_s step_seconds "60000 / 256" s
  for type in tf32 bf16; do
    for micro_batches in 1 2; do
      bench_step "lenet_${type}_$micro_batches" "$small" "$type" "$steps_small" --micro-batches "$micro_batches"
    done
  done
  bench_step resnet18_bf16_default "$large" bf16 "$steps_large"
  bench_step resnet18_bf16_one_stream "$large" bf16 "$steps_large" --streams 1
}

# Measures each kernel of eager steps; by ncu also its bytes.
stage_profile() {
  need_gpu
  profile_network lenet "$small" tf32
  profile_network resnet18 "$large" bf16
}
profile_network() { # name model type
  works "$2" "$3" off || { not_run "$1" "$2 does not work in $3 without CUDA graphs" && return; }
  local eager=("$lockstep" bench step --json --device cuda --model "$2" --dtype "$3" "${data[@]}" --batch-size "$batch"
    --micro-batches 1 --cuda-graph off)
  if attempt "$1 by events" 60 "${eager[@]}" --kernel-times --steps "$steps_events"; then
    cp "$log" "$output/kernels-$1.txt"
    figure_of "$1_kernels_us" kernel_seconds 1e6 us/step
    figure_of "$1_launches" launches 1 launches/step
    figure_of "$1_between_launches_us" between_launches_seconds 1e6 us/step
    figure_of "$1_of_events_us" event_seconds 1e6 us/launch
  fi
  # Many containers forbid ncu, which is no failure.
  command -v ncu >/dev/null || return
  limited 45 ncu --clock-control none --csv --target-processes all --print-units base \
    --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum --log-file "$output/kernels-$1-ncu.csv" \
    "${eager[@]}" --steps 1 >"$(log_of "$1 by ncu")" 2>&1 || not_run "$1 by ncu" "$(why $? "$(log_of "$1 by ncu")")"
}

# Runs the tests of operations and training on the GPU.
stage_tests() {
  need_gpu
  local test
  shopt -s nullglob
  export TEST_DATA=$root/tests
  for test in "$root"/bin/*_gpu_test "$root"/build/{test,release}/tests/*_gpu_test; do
    attempt "${test##*/}" 100 "$test" --gtest_brief=1
  done
  ((cases > 0)) || skip "no *_gpu_test here: build the tests with CUDA"
}

different=0
missing=0
# Runs a command as a case, and compares its digest with $expected, which the first command sets.
compare_digest() { # attempt|attempt_on_ranks case argument...
  local name=$2 digest
  "$@" || { missing=$((missing + 1)) && return 1; }
  digest=$(digest_of "$log")
  fact "digest $name" "$digest"
  expected=${expected:-$digest}
  if [[ -z $digest || $digest != "$expected" ]]; then
    different=$((different + 1))
    verdict "$name: digest" 0 "${digest:-no digest} instead of ${expected:-one}"
  fi
}
stage_digests() {
  need_gpu
  local expected='' graph number run=0 type=fp32
  works "$small" fp32 on || works "$small" fp32 off || type=tf32
  for graph in on off; do
    works "$small" "$type" "$graph" || continue
    for number in 1 2 4; do
      compare_digest attempt_on_ranks "$small $type on $number ranks, graph $graph" 25 "$number" train --device cuda \
        --model "$small" --dtype "$type" "${data[@]}" --lr 0.2 --batch-size "$batch" --max-steps "$steps_digest" \
        --micro-batches 4 --reduce canonical --transport shared-memory --cuda-graph "$graph" --quiet
    done
  done
  [[ -n $expected ]] || missing=$((missing + 1))
  expected=
  local train_large=("$lockstep" train --device cuda --model "$large" --dtype bf16 "${data[@]}" --lr 0.1
    --batch-size "$batch" --quiet)
  for graph in on on off; do
    works "$large" bf16 "$graph" || continue
    compare_digest attempt "$large bf16 graph $graph, run $((++run))" 30 "${train_large[@]}" \
      --max-steps "$steps_digest" --cuda-graph "$graph"
  done
  if use "$large bf16, other runs" "$large" bf16; then
    compare_digest attempt "$large bf16, one micro-batch at a time" 30 "${train_large[@]}" \
      --max-steps "$steps_digest" --streams 1
    if attempt "$large bf16, the first half" 30 "${train_large[@]}" --max-steps $((steps_digest / 2)) \
      --run-dir "$logs/run"; then
      compare_digest attempt "$large bf16, resumed" 30 "$lockstep" train --resume "$logs/run" --quiet \
        --max-steps "$steps_digest"
    else
      missing=$((missing + 1))
    fi
    rm -rf "$logs/run"
  fi
  [[ -n $expected ]] || missing=$((missing + 1))
  expected=
  beside_cpu 1 && beside_cpu 2
  # Zero differing digests count as a result only if none is missing.
  if ((different > 0 || missing == 0)); then figure digests_that_differ "$different"; fi
}
# Trains with a rank on the CPU and one on the GPU, whose shares of the work are fixed.
beside_cpu() { # run
  local name="a CPU rank beside a GPU rank, run $1" device command=()
  use "$name" "$small" fp32 && [[ -n $mpirun ]] || return
  for device in cpu cuda; do
    command+=(-np 1 "$lockstep" train --device "$device" --model "$small" "${data[@]}" --lr 0.2 --batch-size "$batch"
      --max-steps 10 --micro-batches 4 --rank-weights '1,3' --threads 1 --quiet :)
  done
  compare_digest attempt "$name" 40 "${on_host[@]}" "${command[@]:0:${#command[@]}-1}"
}

# Checks that a command ends with status 4 and one line that says why.
expect_refusal() { # case text command...
  local status=0 reason=
  log=$(log_of "$1")
  limited 30 "${@:3}" >"$log.out" 2>"$log" || status=$?
  if ((status != 4)); then
    reason="status $status instead of 4: $(tail -n 1 "$log")"
  elif (($(grep -c 'lockstep: error: ' "$log") != 1)); then
    reason="not one line with an error"
  elif ! grep -q "$2" "$log"; then
    reason="no '$2' in: $(tail -n 1 "$log")"
  fi
  verdict "$1" 0 "$reason"
}
stage_errors() {
  expect_refusal "no visible GPU" "CUDA is off" env CUDA_VISIBLE_DEVICES= "$lockstep" train --device cuda "${synthetic[@]}"
  [[ $(recorded cuda_graph) == o[nf]* ]] || return
  [[ -z $mpirun ]] || expect_refusal "more ranks than GPUs" "have the same GPU" "${on_host[@]}" \
    -np $(($(number_of_gpus) + 1)) "$lockstep" train --device cuda "${synthetic[@]}"
  # The micro-batch is the data set; one of more samples would exceed what cuDNN can index. By
  # the plan, which the emulated GPU refuses, it takes 153,240 MiB.
  if (($(recorded gpu_memory.total | awk '{mib = $1} END {print int(mib)}') > 150000)); then
    not_run "out of memory" "the GPU has too much memory"
  else
    expect_refusal "out of memory" "not enough.*memory" "$lockstep" train --device cuda --model resnet18-d2l --dtype fp32 \
      --dataset synthetic --synthetic-shape 1x28x28 --samples 40000 --batch-size 40000 --micro-batches 1 --epochs 1
  fi
}

# Measures PyTorch on the same GPU. torch_gpu.py prints lines: model setting number img/s number us/step
stage_torch() {
  need_gpu
  # The first import reads gigabytes of libraries.
  limited 60 "$python" -c 'import torch; assert torch.cuda.is_available(); print(torch.__version__, "CUDA", torch.version.cuda)' \
    >"$logs/version" 2>&1 || skip "$python has no PyTorch that sees the GPU"
  fact torch "$(tail -n 1 "$logs/version")"
  [[ -n $data_dir || -n $rehearse ]] || skip "no Fashion-MNIST: --data-dir, or unpack the data archive"
  local model setting value unit seconds best
  for model in ceilings lenet resnet18-d2l; do
    # torch_gpu.py begins a setting only if there is time to compile it; one that hangs is ended with its process.
    seconds=$((deadline - EPOCHSECONDS))
    case $model in ceilings) seconds=45 ;; lenet) seconds=$((seconds * 4 / 10)) ;; esac
    attempt "PyTorch $model" "$seconds" "$python" "$root/bench/peers/torch_gpu.py" --model "$model" \
      --seconds $((seconds * 7 / 10))
    while read -r setting value unit; do
      figure "$setting" "$value" "$unit"
    done < <(awk -v model="$model" '$1 == "ceiling" {print "ceiling_" $2, $3, $4}
      $1 == model && $4 == "img/s" {sub(/-d2l/, "", $1); print "torch_" $1 "_" $2 "_us", $5, "us/step"
        print "torch_" $1 "_" $2 "_img_s", $3, "img/s"}' "$log")
  done
  figure torch_lenet_best_graphs_img_s "$(best_of_torch lenet 'compiled.*_(tf32|fp32).*_replay$')" img/s
  figure torch_lenet_best_epoch_img_s "$(best_of_torch lenet '_(tf32|fp32).*_epoch$')" img/s
  figure torch_resnet18_best_img_s "$(best_of_torch resnet18-d2l .)" img/s
  best=$(best_of_torch resnet18-d2l '_epoch$')
  figure torch_resnet18_best_epoch_s "${best:+$(calculate "60000 / $best")}" s
  quotient lenet_to_torch_graphs lenet_tf32_1_img_s torch_lenet_best_graphs_img_s
  quotient lenet_to_torch_epochs lenet_tf32_1_img_s torch_lenet_best_epoch_img_s
  quotient resnet18_to_torch_best resnet18_bf16_img_s torch_resnet18_best_img_s
}
# Prints the images/s of the fastest setting whose name matches.
best_of_torch() { # model pattern
  awk -v model="$1" -v pattern="$2" '$1 == model && $2 ~ pattern && $4 == "img/s" && $3 > best {best = $3}
    END {if (best) print best}' "$(log_of "PyTorch $1")"
}

# Compares the losses of the first steps with those on the CPU.
compare_losses() { # name option...
  local device difference
  for device in cuda cpu; do
    attempt "$1 on $device" 25 "$lockstep" train --device "$device" --model "$small" "${data[@]}" --max-steps "$steps_loss" \
      --batch-size "$batch" --micro-batches 2 --run-dir "$logs/$1-$device" --quiet "${@:2}" || return
    values_of "$logs/$1-$device" step loss >"$logs/$1-$device.txt"
    rm -rf "${logs:?}/$1-$device"
  done
  difference=$(paste "$logs/$1-cuda.txt" "$logs/$1-cpu.txt" | awk -v steps="$steps_loss" 'NF == 2 {
    d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d; ++n} END {if (n == steps) printf "%.2e", most}')
  figure "${1}_difference" "$difference"
  if [[ -z $difference ]]; then
    verdict "$1" 0 "not $steps_loss losses on both devices"
  else
    verdict "$1" 0 "$(awk "BEGIN {if ($difference > 1e-3) print \"losses differ by $difference\"}")"
  fi
}
stage_losses() {
  need_gpu
  use losses "$small" fp32 || return
  compare_losses loss --lr 0.2
  compare_losses loss_momentum --lr 0.05 --momentum 0.9
}

# Trains with the settings published for the network. Nothing polls the GPU meanwhile.
train_to_accuracy() { # name model type option...
  local run="$logs/$1"
  use "$1" "$2" "$3" || return
  attempt "$1" 75 "$lockstep" train --device cuda --model "$2" --dtype "$3" "${data[@]}" --epochs "$epochs" \
    --batch-size "$batch" --run-dir "$run" "${@:4}" || return
  figure "$1_test_accuracy" "$(values_of "$run" epoch test_accuracy | tail -n 1)"
  figure "$1_train_epoch_s" "$(values_of "$run" epoch seconds | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}')" s
  fact "$1_digest" "$(digest_of "$log")"
  rm -rf "${run:?}"
}
stage_accuracy() {
  need_gpu
  [[ -n $data_dir || -n $rehearse ]] || skip "no Fashion-MNIST: --data-dir, or unpack the data archive of the bundle"
  train_to_accuracy lenet "$small" fp32 --lr 0.2
  train_to_accuracy resnet18 "$large" bf16 --lr 0.1
  quotient resnet18_epoch_of_torch resnet18_train_epoch_s torch_resnet18_best_epoch_s
}

# Examines one step of the small network with tools that look for races and unwritten memory.
stage_sanitizers() {
  need_gpu
  command -v compute-sanitizer >/dev/null || skip "no compute-sanitizer"
  local tool
  for tool in memcheck racecheck initcheck; do
    attempt "$tool" 60 compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9 "$lockstep" train \
      --device cuda --model "$small" --dtype tf32 --cuda-graph off --dataset synthetic --synthetic-shape "$shape" \
      --samples 64 --batch-size 32 --micro-batches 2 --epochs 1 --max-steps 1
  done
}

# Measures both reductions on all GPUs, and the engines that --plan-cache chooses.
stage_bench() {
  need_gpu
  local gpus reduce
  gpus=$(number_of_gpus)
  if ((gpus > 1)); then launch=("${on_host[@]}" -np "$gpus"); fi
  for reduce in ring canonical; do
    bench_step "lenet_$reduce" "$small" tf32 "$steps_small" --micro-batches "$gpus" --reduce "$reduce"
    bench_step "resnet18_$reduce" "$large" bf16 "$steps_large" --micro-batches "$gpus" --reduce "$reduce"
  done
  quotient lenet_canonical_to_ring lenet_canonical_us lenet_ring_us
  quotient resnet18_canonical_to_ring resnet18_canonical_us resnet18_ring_us
  launch=()
  bench_step lenet_tf32_timed "$small" tf32 "$steps_small" --micro-batches 1 --plan-cache "$logs/lenet-plans.json"
  bench_step resnet18_bf16_timed "$large" bf16 "$steps_large" --micro-batches 1 --plan-cache "$logs/resnet18-plans.json"
}

# Measures each operation; the documents are kept in the output folder.
stage_ops() {
  need_gpu
  measure_operations lenet "$small" tf32
  measure_operations resnet18 "$large" bf16
}
measure_operations() { # name model type
  use "$1" "$2" "$3" || return
  attempt "$1" 30 "$lockstep" bench ops --json --device cuda --model "$2" --dtype "$3" "${data[@]}" --batch-size "$batch" \
    --micro-batches 1 --rounds 11 || return
  cp "$log" "$output/ops-$1.txt"
  figure_of "ops_$1_us" in_one_go_seconds 1e6 us/micro-batch
  figure_of "ops_$1_sum_us" sum_seconds 1e6 us/micro-batch
}

# Sums over all GPUs; two ranks share a single one.
stage_allreduce() {
  need_gpu
  local gpus sharing=() times
  gpus=$(number_of_gpus)
  if ((gpus < 2)); then gpus=2 sharing=(--transport shared-memory); fi
  attempt_on_ranks "allreduce" 35 "$gpus" bench allreduce --json --device cuda --rounds "$rounds" "${sharing[@]}" || return
  fact allreduce "ranks $(member "$log" ranks), exchange $(member "$log" exchange)"
  # An entry lists the exchanges; the first one is the ring.
  mapfile -t times < <(sed -n '/"bytes": 46137344,/,$s/.*"seconds": \([^,]*\),/\1/p' "$log")
  figure allreduce_44mb_ring_us "$(calculate "${times[0]} * 1e6")" us
  figure allreduce_44mb_canonical_us "$(calculate "${times[1]} * 1e6")" us
}
