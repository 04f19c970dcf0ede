# Stages of gpu-check.sh that measure: headline, profile, torch, bench, ops, allreduce.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of commands.sh

# Measures steps. Records time, images/s, seconds to the first step, and the host's share of a core.
bench_step() { # name model type steps option...
  local name=$1 model=$2 type=$3 steps=$4 first
  shift 4
  use "$model" "$type" || { not_run "$name" "$model does not work in $type" && return 1; }
  attempt "$name" 40 "${launch[@]}" "$lockstep" bench step --device cuda --model "$model" --dtype "$type" "${data[@]}" \
    --batch-size "$batch" --steps "$steps" "$@" || return
  figure "${name}_us" "$(word_of "$log" step 2)" us/step
  figure "${name}_img_s" "$(speed_of "$log")" img/s
  first=$(word_of "$log" first 3)
  figure "${name}_first_step_s" "${first:+$(calculate "$first / 1000")}" s
  figure "${name}_host_cpu" "$(word_of "$log" host 2)" "% of a core"
}
launch=()
stage_headline() {
  need_gpu
  local type micro_batches us
  bench_step resnet18_bf16 "$large" bf16 "$steps_large" --micro-batches 1
  us=$(recorded resnet18_bf16_us)
  figure resnet18_bf16_epoch_s "${us:+$(calculate "$us * 60000 / 256 / 1e6")}" s
  for type in tf32 bf16; do
    for micro_batches in 1 2; do
      bench_step "lenet_${type}_$micro_batches" "$small" "$type" "$steps_small" --micro-batches "$micro_batches"
    done
  done
  bench_step resnet18_bf16_default "$large" bf16 "$steps_large"
}

# Writes the time of each kernel of eager steps to a table, by the first tool that works.
stage_profile() {
  need_gpu
  profile_network lenet "$small" tf32
  profile_network resnet18 "$large" bf16
}
profile_network() { # name model type
  local name=$1 table=$GPU_CHECK_OUTPUT/kernels-$1.txt
  local eager=("$lockstep" bench step --device cuda --model "$2" --dtype "$3" "${data[@]}" --batch-size "$batch"
    --micro-batches 1 --cuda-graph off)
  works "$2" "$3" off || { not_run "profile of $name" "$2 does not work in $3 without CUDA graphs" && return; }
  rm -f "$table"
  if attempt_by_tool "$name by ncu" 45 ncu --clock-control none --csv --target-processes all \
    --print-units base --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum \
    --log-file "$logs/$name-ncu.csv" "${eager[@]}" --steps 1; then
    sum_kernels "$logs/$name-ncu.csv" >"$table"
  elif attempt_by_tool "$name by nsys" 45 nsys profile --force-overwrite true -o "$logs/$name" "${eager[@]}" --steps 1; then
    attempt "$name summary of nsys" 15 nsys stats --force-export true --report cuda_gpu_kern_sum --format column \
      "$logs/$name.nsys-rep" && cp "$log" "$table"
  elif attempt "$name by events" 60 "${eager[@]}" --kernel-times --steps "$steps_events"; then
    sed -n '/^sum /,$p' "$log" >"$table"
    figure "${name}_between_launches_us" "$(word_of "$table" between 3)" us/step
    figure "${name}_of_events_us" "$(word_of "$table" events 2)" us/launch
  fi
  rm -f "$logs/$name.nsys-rep" "$logs/$name.sqlite"
  [[ -f $table ]] || return
  figure "${name}_kernels_us" "$(word_of "$table" sum 2)" us/step
  figure "${name}_launches" "$(word_of "$table" sum 4)" launches/step
}
# Prints a line per kernel: us, launches and MB a step, name; in front their sum. bench step makes five steps more.
sum_kernels() { # CSV of ncu with a row per metric
  awk -F '","' -v steps=6 '
    !value && /Metric Name/ {for (i = 1; i <= NF; ++i) {gsub(/"/, "", $i); at[$i] = i}; value = at["Metric Value"]; next}
    value {
      name = $at["Kernel Name"]; metric = $at["Metric Name"]; amount = $value; gsub(/[",]/, "", amount)
      if (metric ~ /time_duration/) {time[name] += amount / 1e3; ++count[name]; all += amount / 1e3; ++launches}
      if (metric ~ /dram__bytes/) bytes[name] += amount / 1e6
    }
    END {
      printf "sum %.2f us %.1f launches a step\n", all / steps, launches / steps
      fflush()
      for (name in time) printf "%10.2f us %8.1f launches %10.2f MB  %s\n", time[name] / steps, count[name] / steps,
        bytes[name] / steps, name | "sort -rn"
    }' "$1"
}

# Measures PyTorch on the same GPU. torch_gpu.py prints lines: model setting number img/s number us/step
stage_torch() {
  need_gpu
  # The first import reads gigabytes of libraries.
  limited 60 "$python" -c 'import torch; assert torch.cuda.is_available(); print(torch.__version__, "CUDA", torch.version.cuda)' \
    >"$logs/version" 2>&1 || skip "$python has no PyTorch that sees the GPU"
  fact torch "$(tail -n 1 "$logs/version")"
  [[ -n $GPU_CHECK_DATA || -n $GPU_CHECK_REHEARSE ]] || skip "no Fashion-MNIST: --data-dir, or unpack the data archive"
  local model setting images micros seconds
  for model in ceilings lenet resnet18-d2l; do
    # torch_gpu.py begins a setting only if there is time to compile it; one that hangs is ended with its process.
    seconds=$((GPU_CHECK_DEADLINE - EPOCHSECONDS))
    case $model in ceilings) seconds=45 ;; lenet) seconds=$((seconds * 4 / 10)) ;; esac
    attempt "PyTorch $model" "$seconds" "$python" "$GPU_CHECK_ROOT/bench/peers/torch_gpu.py" --model "$model" \
      --seconds $((seconds * 7 / 10))
    while read -r setting images micros; do
      figure "torch_${model%-d2l}_${setting}_us" "$micros" us/step
      figure "torch_${model%-d2l}_${setting}_img_s" "$images" img/s
    done < <(awk -v model="$model" '$1 == model && $4 == "img/s" {print $2, $3, $5}' "$log")
    while read -r setting images micros; do
      figure "ceiling_$setting" "$images" "$micros"
    done < <(awk '$1 == "ceiling" {print $2, $3, $4}' "$log")
  done
  figure torch_lenet_best_graphs_img_s "$(best_of_torch lenet 'compiled.*_(tf32|fp32).*_replay$')" img/s
  figure torch_lenet_best_epoch_img_s "$(best_of_torch lenet '_(tf32|fp32).*_epoch$')" img/s
  figure torch_resnet18_best_img_s "$(best_of_torch resnet18-d2l .)" img/s
  local best
  best=$(best_of_torch resnet18-d2l '_epoch$')
  figure torch_resnet18_best_epoch_s "${best:+$(calculate "60000 / $best")}" s
  record quotient lenet_to_torch_graphs lenet_tf32_1_img_s torch_lenet_best_graphs_img_s
  record quotient lenet_to_torch_epochs lenet_tf32_1_img_s torch_lenet_best_epoch_img_s
  record quotient resnet18_to_torch_best resnet18_bf16_img_s torch_resnet18_best_img_s
}
# Prints the images/s of the fastest setting whose name matches.
best_of_torch() { # model pattern
  awk -v model="$1" -v pattern="$2" '$1 == model && $2 ~ pattern && $4 == "img/s" && $3 > best {best = $3}
    END {if (best) print best}' "$(log_of "PyTorch $1")"
}

# Measures both reductions on all GPUs, and the engines that --plan-cache chooses.
stage_bench() {
  need_gpu
  local gpus reduce
  gpus=$(number_of_gpus)
  if ((gpus > 1)); then launch=("$GPU_CHECK_MPIRUN" --quiet --oversubscribe --bind-to none -np "$gpus"); fi
  for reduce in ring canonical; do
    bench_step "lenet_$reduce" "$small" tf32 "$steps_small" --micro-batches "$gpus" --reduce "$reduce"
    bench_step "resnet18_$reduce" "$large" bf16 "$steps_large" --micro-batches "$gpus" --reduce "$reduce"
  done
  record quotient lenet_canonical_to_ring lenet_canonical_us lenet_ring_us
  record quotient resnet18_canonical_to_ring resnet18_canonical_us resnet18_ring_us
  launch=()
  bench_step lenet_tf32_timed "$small" tf32 "$steps_small" --micro-batches 1 --plan-cache "$logs/lenet-plans.json"
  bench_step resnet18_bf16_timed "$large" bf16 "$steps_large" --micro-batches 1 --plan-cache "$logs/resnet18-plans.json"
}

# Writes the tables of operations to the output folder.
stage_ops() {
  need_gpu
  table_of_operations lenet "$small" tf32
  table_of_operations resnet18 "$large" bf16
}
table_of_operations() { # name model type
  use "$2" "$3" || { not_run "$1" "$2 does not work in $3" && return; }
  attempt "$1" 30 "$lockstep" bench ops --device cuda --model "$2" --dtype "$3" "${data[@]}" --batch-size "$batch" \
    --micro-batches 1 --rounds 11 || return
  cp "$log" "$GPU_CHECK_OUTPUT/ops-$1.txt"
  figure "ops_$1_us" "$(awk '/^in one go/ {print $4}' "$log")" us/micro-batch
  figure "ops_$1_sum_us" "$(awk '/^in one go/ {print $12}' "$log")" us/micro-batch
}

# Sums over all GPUs; two ranks share a single one.
stage_allreduce() {
  need_gpu
  local gpus sharing=() rounds=10
  gpus=$(number_of_gpus)
  if ((gpus < 2)); then gpus=2 sharing=(--transport shared-memory); fi
  if [[ -n $GPU_CHECK_REHEARSE ]]; then rounds=1; fi
  attempt_on_ranks "allreduce" 35 "$gpus" bench allreduce --device cuda --rounds "$rounds" "${sharing[@]}" || return
  fact allreduce "$(sed -n 's/^\(ranks [0-9]*\).*  \(exchange .*\)/\1, \2/p' "$log")"
  figure allreduce_44mb_canonical_us "$(word_of "$log" 46137344 4)" us
  figure allreduce_44mb_ring_us "$(word_of "$log" 46137344 2)" us
}
