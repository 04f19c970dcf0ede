#!/usr/bin/env bash
# Checks and measures lockstep on a machine with a GPU, within 8 minutes, from a source tree with a build or from an
# unpacked bundle. Continues after failures. Writes gpu-check.json and a readable gpu-check.md.
#   launcher/gpu-check.sh [--output DIR] [--data-dir DIR] [--only STEP,...]
#   --output DIR    folder of the results; default gpu-check-HOST-DATE
#   --data-dir DIR  folder of Fashion-MNIST
#   --only STEPS    some of: machine doctor refusal tests digests loss accuracy bench allreduce ops torch profile
# The exit status is 0 if no step failed, 4 if there is no GPU to compute on, else 1.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
root=$(dirname "$here")
# shellcheck source=bench/common.sh
source "$root/bench/common.sh"
# shellcheck source=launcher/gpu-check-record.sh
source "$here/gpu-check-record.sh"

whole_limit=${GPU_CHECK_LIMIT:-465}  # seconds
output=
data_dir=
only=machine,doctor,refusal,gpu,tests,digests,loss,accuracy,bench,allreduce,ops,torch,profile
while (($# > 0)); do
  case $1 in
    --output) output=${2:-} && shift ;;
    --data-dir) data_dir=${2:-} && shift ;;
    --only) only=gpu,${2:-} && shift ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) fail "unknown option $1 (see --help)" ;;
  esac
  shift
done

# --- paths ---

first_that_is() { # test file...
  local test=$1 file
  shift
  for file in "$@"; do
    if test "$test" "$file"; then
      printf '%s\n' "$file"
      return
    fi
  done
}
lockstep=${LOCKSTEP:-$(first_that_is -x "$root/bin/lockstep" "$root/build/release/lockstep" "$root/build/test/lockstep")}
[[ -n $lockstep ]] || fail "no program; build it: cmake --preset release && cmake --build --preset release"
mpirun=$(first_that_is -x "$root/bin/mpirun" "$(command -v mpirun || true)")
data_dir=${data_dir:-$(first_that_is -d "$root/data/fashion-mnist" /usr/share/datasets/fashion-mnist)}
shopt -s nullglob
gpu_tests=("$root"/bin/*_gpu_test "$root"/build/{test,release}/tests/*_gpu_test)
output=${output:-gpu-check-$(hostname)-$(date -u +%Y%m%d-%H%M%S)}
mkdir -p "$output/logs" || fail "cannot make the folder $output"
output=$(cd "$output" && pwd -P)
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work"/{steps,figures,facts}

# Synthetic images of the same shape suffice for measurements; accuracies need the real ones.
if [[ -n $data_dir ]]; then
  data=(--dataset fashion-mnist --data-dir "$data_dir")
else
  data=(--dataset synthetic --synthetic-shape 1x28x28 --samples 60000)
fi
export FASHION_MNIST=$data_dir

# --- steps ---

# Runs a function as a step with a limit of seconds; its output is the step's log. In the function, `limited` runs a
# command within that limit, and `skip` says why there is nothing to do.
step() { # name seconds function
  local name=$1 seconds=$2 function=$3 started=$SECONDS status=0 verdict=passed left=$((whole_limit - SECONDS))
  [[ ,$only, == *,$name,* ]] || return 0
  reason=
  deadline=$((SECONDS + (seconds < left ? seconds : left)))
  if ((left < 5)); then
    reason="no time left" status=77
  else
    "$function" >"$output/logs/$name.log" 2>&1 </dev/null || status=$?
  fi
  case $status in
    0) ;;
    77) verdict=skipped ;;
    124 | 137) verdict=failed reason="took more than its $seconds s" ;;
    *) verdict=failed reason=${reason:-$(why "$output/logs/$name.log")} ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$name" "$verdict" $((SECONDS - started)) "$(one_line "$reason")" >>"$work/steps"
  printf '%-10s %-8s %4d s  %s\n' "$name" "$verdict" $((SECONDS - started)) "$(one_line "$reason")"
}
# Prints the line of a log that tells the reason: lockstep's error, else the last line.
why() { { grep -h 'error: ' "$1" || grep -h . "$1" || echo "no output"; } | tail -n 1; }
skip() { # reason
  reason=$*
  return 77
}
limited() {
  local left=$((deadline - SECONDS))
  ((left > 0)) || return 124
  timeout -k 3 "$left" "$@"
}
# Runs a command with `limited`, writes its output to a file, and shows it.
kept() { # file command...
  local file=$1 status=0
  shift
  limited "$@" >"$file" 2>"$file.err" || status=$?
  echo "\$ $*"
  cat "$file" "$file.err"
  return "$status"
}
ranks() { # number arguments of lockstep...
  local number=$1
  shift
  [[ -n $mpirun ]] || skip "no mpirun" || return
  kept "$work/log" "$mpirun" --quiet --oversubscribe --bind-to none -np "$number" "$lockstep" "$@"
}

# --- checks ---

query() { nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits | head -n 1; }
machine_facts() {
  fact host "$(hostname)"
  fact system "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
  fact kernel "$(uname -r)"
  fact processor "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
  fact cores "$(nproc)"
  fact memory_gb "$(awk '/^MemTotal/ {printf "%.0f", $2 / 1e6}' /proc/meminfo)"
  fact lockstep "$("$lockstep" --version)"
  if [[ -n $mpirun ]]; then fact mpi "$("$mpirun" --version | head -n 1)"; fi
  command -v nvidia-smi >/dev/null || skip "no nvidia-smi: is the NVIDIA driver installed?" || return
  limited nvidia-smi -q >"$output/nvidia-smi.txt" || return
  local name
  for name in name driver_version memory.total clocks.max.sm clocks.max.mem power.limit pcie.link.gen.max compute_mode \
    mig.mode.current ecc.mode.current persistence_mode; do
    fact "gpu_$name" "$(query "$name" || true)"
  done
  fact gpus "$(nvidia-smi -L | wc -l)"
  fact driver_cuda "$(sed -n 's/^CUDA Version *: *//p' "$output/nvidia-smi.txt")"
  limited nvidia-smi topo -m || true
}

doctor() {
  kept "$output/doctor.txt" "$lockstep" doctor --device cuda "${data[@]}" || return
  fact cudnn "$(sed -n 's/^cuDNN  *//p' "$output/doctor.txt")"
  fact nccl "$(sed -n 's/^NCCL  *//p' "$output/doctor.txt")"
}

# Checks that a run without a visible GPU ends with status 4 and one line.
refusal() {
  local status=0
  CUDA_VISIBLE_DEVICES='' limited "$lockstep" train --device cuda --dataset synthetic --max-steps 1 --run-dir none \
    >"$work/out" \
    2>"$work/err" || status=$?
  cat "$work/out" "$work/err"
  ((status == 4)) || { reason="status $status where 4 was wanted" && return 1; }
  (($(grep -c . "$work/err") == 1)) || { reason="not one line on stderr" && return 1; }
}

# Makes one step on the GPU; if it fails, most of the other checks are skipped.
no_gpu="no step was tried on a GPU"
try_gpu() {
  no_gpu="no GPU to compute on"
  kept "$work/log" "$lockstep" train --device cuda --dataset synthetic --samples 512 --max-steps 1 --run-dir none || return
  no_gpu=
}
need_gpu() { [[ -z $no_gpu ]] || skip "$no_gpu"; }
need_data() { [[ -n $data_dir ]] || skip "no Fashion-MNIST: --data-dir, or unpack the data archive of the bundle"; }

op_tests() {
  need_gpu || return
  ((${#gpu_tests[@]} > 0)) || skip "no *_gpu_test here: build the tests with CUDA" || return
  local test status=0
  for test in "${gpu_tests[@]}"; do
    limited "$test" --gtest_brief=1 || { status=$? && reason="$(basename "$test") failed"; }
  done
  return "$status"
}

digest_of() { sed -n 's/^digest \(xxh3:[0-9a-f]*\).*/\1/p' "$1"; }
digests() {
  need_gpu || return
  local number graph digest first=
  for graph in on off; do
    for number in 1 2 4; do
      ranks "$number" train --device cuda --model lenet "${data[@]}" --lr 0.2 --max-steps 60 --micro-batches 4 \
        --reduce canonical --transport shared-memory --cuda-graph "$graph" --quiet || return
      digest=$(digest_of "$work/log")
      fact "digest_${number}_ranks_graph_$graph" "$digest"
      first=${first:-$digest}
      [[ -n $digest && $digest == "$first" ]] ||
        { reason="$number ranks, CUDA graph $graph: ${digest:-no digest} instead of $first" && return 1; }
    done
  done
}

# Prints the losses of a run, one per line.
losses() { sed -n 's/.*"event":"step".*"loss":\([-+.0-9e]*\).*/\1/p' "$1/metrics.jsonl"; }
run_losses() { # device name option...
  local device=$1 name=$2
  shift 2
  kept "$work/log" "$lockstep" train --device "$device" --model lenet "${data[@]}" --max-steps 100 --run-dir \
    "$output/runs/$name-$device" --quiet --micro-batches 2 "$@" && losses "$output/runs/$name-$device" >"$work/$name-$device"
}
compare_losses() { # name wanted option...
  local name=$1 wanted=$2
  shift 2
  run_losses cuda "$name" "$@" && run_losses cpu "$name" "$@" || return
  figure "${name}_difference" "$(paste "$work/$name-cuda" "$work/$name-cpu" | awk 'NF == 2 {
      d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d; ++n} END {if (n == 100) printf "%.2e", most}')" "" "$wanted"
  [[ -n $(figure_of "${name}_difference") ]] || { reason="not 100 losses on both devices" && return 1; }
}
loss() {
  need_gpu && need_data || return
  compare_losses loss_100_steps "<= 1e-3" --lr 0.2 && compare_losses loss_100_steps_momentum "" --lr 0.05 --momentum 0.9
}

# Prints the time now and the seconds of processor time of a process so far.
processor_time() { awk -v now="$(date +%s.%N)" -v ticks="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print now, ($12 + $13) / ticks}' "/proc/$1/stat"; }
# Records the processor time of a process and the memory in use on the GPU until the process ends; ends it at the limit.
watch_process() { # process name
  while true; do
    query memory.used 2>/dev/null >>"$work/$2.memory" || true
    processor_time "$1" 2>/dev/null >>"$work/$2.processor" || true
    kill -0 "$1" 2>/dev/null || return 0
    ((SECONDS < deadline)) || kill "$1" 2>/dev/null || true
    sleep 0.3
  done
}
# Prints the share of a core that the second half of a run took, without start-up and reading of the data.
processor_share() { # name
  awk '{t[NR] = $1; p[NR] = $2} END {m = int(NR / 2); if (m > 0 && t[NR] > t[m]) printf "%.1f", 100 * (p[NR] - p[m]) / (t[NR] - t[m])}' \
    "$work/$1.processor"
}
train_to_accuracy() { # name wanted option...
  local name=$1 wanted=$2 process status=0
  shift 2
  ((SECONDS < deadline)) || return 124
  echo "\$ $lockstep train $*"
  "$lockstep" train --device cuda "${data[@]}" --epochs 10 --batch-size 256 --run-dir "$output/runs/$name" "$@" \
    >"$work/$name.log" 2>"$work/$name.err" &
  process=$!
  watch_process "$process" "$name" &
  local watcher=$!
  wait "$process" || status=$?
  wait "$watcher" || true
  cat "$work/$name.log" "$work/$name.err"
  ((status != 143)) || return 124
  ((status == 0)) || return "$status"
  figure "${name}_test_accuracy" "$(sed -n 's/.*test acc \([0-9.]*\).*/\1/p' "$work/$name.log" | tail -n 1)" "" "$wanted"
  figure "${name}_epoch_s" "$(sed -n 's/^epoch.* \([0-9.]*\) s .*/\1/p' "$work/$name.log" | middle '%.3f')" s
  figure "${name}_gpu_memory_mb" "$(sort -n "$work/$name.memory" 2>/dev/null | tail -n 1)" MiB
  figure "${name}_host_cpu" "$(processor_share "$name")" "% of a core" "< 20"
  fact "${name}_digest" "$(digest_of "$work/$name.log")"
}
accuracy() {
  need_gpu && need_data || return
  train_to_accuracy lenet ">= 0.82" --model lenet --lr 0.2 || return
  train_to_accuracy resnet18 ">= 0.90" --model resnet18-d2l --lr 0.1 --dtype bf16 || return
}

bench_step() { # name steps wanted option...
  local name=$1 steps=$2 wanted=$3
  shift 3
  kept "$work/log" "$lockstep" bench step --device cuda "${data[@]}" --batch-size 256 --steps "$steps" "$@" || return
  figure "${name}_us" "$(awk '$1 == "step" {print $2}' "$work/log")" us/step "$wanted"
  figure "${name}_img_s" "$(speed "$work/log")" img/s
  figure "${name}_host_memory_mb" "$(awk '$1 == "memory" {print $2}' "$work/log")" MB
}
benchmarks() {
  need_gpu || return
  # The engines of the small network are timed, as a user would do; timing those of batch norm takes long.
  local status=0 reduce timed=(--plan-cache "$work/plans.json")
  for reduce in ring canonical; do
    bench_step "lenet_fp32_$reduce" 2000 "" --model lenet --dtype fp32 "${timed[@]}" --reduce "$reduce" || status=$?
    bench_step "lenet_tf32_$reduce" 2000 "<= 60" --model lenet --dtype tf32 "${timed[@]}" --reduce "$reduce" || status=$?
    bench_step "resnet18_bf16_$reduce" 200 "" --model resnet18-d2l --dtype bf16 --reduce "$reduce" || status=$?
  done
  # One micro-batch, as PyTorch computes the batch.
  bench_step lenet_tf32_whole 2000 "<= 60" --model lenet --dtype tf32 "${timed[@]}" --reduce ring --micro-batches 1 || status=$?
  bench_step resnet18_bf16_whole 200 "" --model resnet18-d2l --dtype bf16 --reduce ring --micro-batches 1 || status=$?
  quotient canonical_to_ring_resnet18 resnet18_bf16_canonical_us resnet18_bf16_ring_us "<= 1.05"
  local way us
  for way in ring whole; do
    us=$(figure_of "resnet18_bf16_${way}_us")
    [[ -z $us ]] || figure "resnet18_bf16_${way}_epoch_s" "$(awk "BEGIN {printf \"%.3f\", $us * 60000 / 256 / 1e6}")" s "<= 0.75"
  done
  return "$status"
}

# Sums over all GPUs; two ranks share a single one.
allreduce() {
  need_gpu || return
  local gpus sharing=()
  gpus=$(nvidia-smi -L | wc -l) || gpus=1
  if ((gpus < 2)); then gpus=2 sharing=(--transport shared-memory); fi
  ranks "$gpus" bench allreduce --device cuda --rounds 10 "${sharing[@]}" || return
  fact allreduce "$(sed -n '1s/^\(ranks [0-9]*\).*  \(exchange .*\)/\1, \2/p' "$work/log")"
  figure allreduce_44mb_canonical_us "$(awk '$1 == 46137344 {print $4}' "$work/log")" us
  figure allreduce_44mb_ring_us "$(awk '$1 == 46137344 {print $2}' "$work/log")" us
}

# Writes the tables of operations to the output folder.
ops() {
  need_gpu || return
  local model table
  for model in lenet:tf32 resnet18-d2l:bf16; do
    table=$output/ops-${model%:*}.txt
    kept "$table" "$lockstep" bench ops --device cuda "${data[@]}" --model "${model%:*}" --dtype "${model#*:}" \
      --rounds 11 || return
    figure "ops_${model/:/_}_us" "$(awk '/^in one go/ {print $4}' "$table")" us/micro-batch
    figure "ops_${model/:/_}_sum_us" "$(awk '/^in one go/ {print $12}' "$table")" us/micro-batch
  done
}

# Measures PyTorch in the same run. torch_gpu.py prints lines: model setting img/s us/step
torch() {
  need_gpu && need_data || return
  limited "$python" -c 'import torch; assert torch.cuda.is_available()' 2>"$work/err" ||
    skip "$python has no PyTorch that sees the GPU" || return
  fact torch "$("$python" -c 'import torch; print(torch.__version__, "CUDA", torch.version.cuda)')"
  local model share name setting images micros status=0
  for model in lenet resnet18-d2l; do
    # torch_gpu.py begins a setting only if there is time to compile it.
    share=$([[ $model == lenet ]] && echo 4 || echo 6)
    kept "$work/torch" "$python" "$root/bench/peers/torch_gpu.py" --model "$model" \
      --seconds $(((deadline - SECONDS) * share / 10)) || status=$?
    while read -r name setting images micros; do
      figure "torch_${name}_${setting}_us" "$micros" us/step
      figure "torch_${name}_${setting}_img_s" "$images" img/s
    done < <(awk '$3 ~ /^[0-9.]+$/ {print $1, $2, $3, $5}' "$work/torch")
  done
  compare_with_torch
  return "$status"
}
best_of_torch() { # model pattern
  awk -F '\t' -v name="^torch_$1_.*_img_s$" -v which="$2" '$1 ~ name && $1 ~ which && $2 > best {best = $2}
    END {if (best) print best}' "$work/figures"
}
compare_with_torch() {
  local way
  figure torch_lenet_best_compiled_img_s "$(best_of_torch lenet 'compiled.*_(tf32|fp32)')" img/s
  figure torch_resnet18-d2l_best_img_s "$(best_of_torch resnet18-d2l .)" img/s
  for way in ring whole; do
    quotient "lenet_${way}_to_torch_compiled" "lenet_tf32_${way}_img_s" torch_lenet_best_compiled_img_s ">= 2"
    quotient "lenet_${way}_to_torch_eager_loader" "lenet_tf32_${way}_img_s" torch_lenet_eager_loader_img_s ">= 8"
    quotient "resnet18_${way}_to_torch_best" "resnet18_bf16_${way}_img_s" torch_resnet18-d2l_best_img_s ">= 1.05"
  done
}

profile() {
  need_gpu || return
  command -v nsys >/dev/null || skip "no nsys; times of operations are in ops-*.txt" || return
  local model
  for model in lenet:tf32 resnet18-d2l:bf16; do
    limited nsys profile --force-overwrite true --cuda-graph-trace=node -o "$work/profile" "$lockstep" bench step \
      --device cuda "${data[@]}" --model "${model%:*}" --dtype "${model#*:}" --steps 50 || return
    limited nsys stats --force-export true --report cuda_gpu_kern_sum,cuda_gpu_mem_time_sum --format column \
      "$work/profile.nsys-rep" | tee "$output/profile-${model%:*}.txt" || return
  done
}

started=$(date -u +%FT%TZ)
SECONDS=0
step machine 20 machine_facts
step doctor 40 doctor
step refusal 15 refusal
step gpu 30 try_gpu
step tests 90 op_tests
step digests 60 digests
step loss 40 loss
step accuracy 120 accuracy
step bench 150 benchmarks
step allreduce 30 allreduce
step ops 60 ops
step torch 170 torch
step profile 60 profile
write_json
write_summary
echo "$output/gpu-check.md"
[[ -z $no_gpu ]] || exit 4
! cut -f 2 "$work/steps" | grep -qx failed
