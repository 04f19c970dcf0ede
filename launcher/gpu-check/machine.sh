# Stages of gpu-check.sh that find out what there is and what works: machine, doctor, smoke, tests, errors, sanitizers.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of commands.sh

query() { limited 5 nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits | head -n 1; }
stage_machine() {
  fact host "$(uname -n)"
  fact system "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
  fact kernel "$(uname -r)"
  fact processor "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
  fact cores "$(nproc)"
  fact memory_gb "$(awk '/^MemTotal/ {printf "%.0f", $2 / 1e6}' /proc/meminfo)"
  if attempt "lockstep --version" 10 "$lockstep" --version; then fact lockstep "$(tail -n 1 "$log")"; fi
  if [[ -n $GPU_CHECK_MPIRUN ]]; then fact mpi "$("$GPU_CHECK_MPIRUN" --version | head -n 1)"; fi
  command -v nvidia-smi >/dev/null || skip "no nvidia-smi: is the NVIDIA driver installed?"
  attempt "nvidia-smi" 10 nvidia-smi -q || return
  fact driver_cuda "$(sed -n 's/^CUDA Version *: *//p' "$log")"
  fact gpus "$(limited 5 nvidia-smi -L | wc -l)"
  local name
  for name in name driver_version memory.total clocks.max.sm clocks.max.mem power.limit pcie.link.gen.max compute_mode \
    mig.mode.current ecc.mode.current persistence_mode; do
    fact "gpu_$name" "$(query "$name")"
  done
  if (($(number_of_gpus) > 1)); then attempt "topology" 10 nvidia-smi topo -m; fi
}

stage_doctor() {
  attempt "doctor" 40 "$lockstep" doctor --device cuda "${data[@]}" "${doctor_options[@]}"
  fact cudnn "$(sed -n 's/^cuDNN  *//p' "$log")"
  fact nccl "$(sed -n 's/^NCCL  *//p' "$log")"
}

# Trains for two steps in each combination: one that fails ends no other. The fact `works` lists the combinations that do,
# and `cuda_graph` is on, off (where only that works), or none; both are up to date whenever the stage is ended.
stage_smoke() {
  local model graph type combination works='' bad=()
  fact cuda_graph none
  for model in "$small" "$large"; do
    for graph in off on; do
      for type in fp32 tf32 bf16; do
        if ! short_run "$model" "$type" "$graph" attempt "$model $type graph $graph" 25; then
          bad+=("$model $type $graph")
          continue
        fi
        works+="${works:+ }$model/$type/$graph"
        fact works "$works"
        if [[ $graph == on || $works != */on* ]]; then fact cuda_graph "$graph"; fi
      done
    done
  done
  for combination in "${bad[@]:0:2}"; do
    read -r model type graph <<<"$combination"
    diagnose "$model" "$type" "$graph"
  done
}
# Trains for two steps, and evaluates.
short_run() { # model type on|off command...
  local model=$1 type=$2 graph=$3
  shift 3
  "$@" "$lockstep" train --device cuda --model "$model" --dtype "$type" --cuda-graph "$graph" --dataset synthetic \
    --synthetic-shape "$shape" --samples $((2 * batch)) --batch-size "$batch" --epochs 1
}
# Repeats a short run that failed, with the logs of cuDNN and, where it is, memcheck.
diagnose() { # model type on|off
  local name="$1 $2 graph $3" details
  details=$(log_of "$name details")
  short_run "$@" limited 20 env CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stderr CUDNN_FRONTEND_LOG_INFO=1 \
    CUDNN_FRONTEND_LOG_FILE=stderr CUDA_LAUNCH_BLOCKING=1 >"$details" 2>&1
  echo "$name again, with more logging: status $?"
  tail -c 300000 "$details" >"$details.tail" && mv "$details.tail" "$details"
  command -v compute-sanitizer >/dev/null || return 0
  short_run "$@" limited 40 compute-sanitizer --tool memcheck --target-processes all >"$(log_of "$name memcheck")" 2>&1
  echo "$name again, with memcheck: status $?"
}

# Runs the tests of operations and training on the GPU.
stage_tests() {
  need_gpu
  [[ -n $GPU_CHECK_TESTS ]] || skip "no *_gpu_test here: build the tests with CUDA"
  local test tests
  IFS=: read -ra tests <<<"$GPU_CHECK_TESTS"
  for test in "${tests[@]}"; do attempt "${test##*/}" 30 "$test" --gtest_brief=1; done
}

# Checks that a command ends with status 4 and one line that says why.
expect_refusal() { # case text command...
  local name=$1 text=$2 status=0
  shift 2
  log=$(log_of "$name")
  limited 30 "$@" >"$log.out" 2>"$log" || status=$?
  local reason=
  if ((status != 4)); then
    reason="status $status where 4 was wanted: $(tail -n 1 "$log")"
  elif (($(grep -c 'lockstep: error: ' "$log") != 1)); then
    reason="not one line with an error"
  elif ! grep -q "$text" "$log"; then
    reason="no '$text' in: $(tail -n 1 "$log")"
  fi
  verdict "$name" 0 "$reason"
}
stage_errors() {
  expect_refusal "no visible GPU" "CUDA is off" env CUDA_VISIBLE_DEVICES= "$lockstep" train --device cuda "${made_up[@]}"
  [[ $(recorded cuda_graph) == o[nf]* ]] || return
  if [[ -n $GPU_CHECK_MPIRUN ]]; then
    expect_refusal "more ranks than GPUs" "have the same GPU" "$GPU_CHECK_MPIRUN" --quiet --oversubscribe --bind-to none \
      -np $(($(number_of_gpus) + 1)) "$lockstep" train --device cuda "${made_up[@]}"
  fi
  # The micro-batch is the data set; one of more samples would exceed what cuDNN can index. By
  # the plan, which the emulated GPU refuses, it takes 153,240 MiB.
  if (($(recorded gpu_memory.total | awk '{mib = $1} END {print int(mib)}') > 150000)); then
    not_run "out of memory" "the GPU has too much memory"
  else
    expect_refusal "out of memory" "not enough.*memory" "$lockstep" train --device cuda --model resnet18-d2l --dtype fp32 \
      --dataset synthetic --synthetic-shape 1x28x28 --samples 40000 --batch-size 40000 --micro-batches 1 --epochs 1
  fi
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
