# Stages of gpu-check.sh that compare results: digests, losses, accuracy.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of commands.sh

different=0
missing=0
# Runs a command as a case, and compares its digest with the one that is wanted; the first one is.
compare_digest() { # attempt|attempt_on_ranks case argument...
  local name=$2 digest
  "$@" || { missing=$((missing + 1)) && return 1; }
  digest=$(digest_of "$log")
  fact "digest $name" "$digest"
  wanted=${wanted:-$digest}
  if [[ -z $digest || $digest != "$wanted" ]]; then
    different=$((different + 1))
    verdict "$name: digest" 0 "${digest:-no digest} instead of ${wanted:-one}"
  fi
}
stage_digests() {
  need_gpu
  local wanted='' graph number run=0 steps=40 type=fp32
  if [[ -n $GPU_CHECK_REHEARSE ]]; then steps=2; fi
  works "$small" fp32 on || works "$small" fp32 off || type=tf32
  for graph in on off; do
    works "$small" "$type" "$graph" || continue
    for number in 1 2 4; do
      local name="$small $type on $number ranks, graph $graph"
      compare_digest attempt_on_ranks "$name" 25 "$number" train --device cuda --model "$small" --dtype "$type" \
        "${data[@]}" --lr 0.2 --batch-size "$batch" --max-steps "$steps" --micro-batches 4 --reduce canonical \
        --transport shared-memory --cuda-graph "$graph" --quiet
    done
  done
  [[ -n $wanted ]] || missing=$((missing + 1))
  wanted=
  for graph in on on off; do
    works "$large" bf16 "$graph" || continue
    local name="$large bf16 graph $graph, run $((++run))"
    compare_digest attempt "$name" 30 "$lockstep" train --device cuda --model "$large" --dtype bf16 "${data[@]}" \
      --lr 0.1 --batch-size "$batch" --max-steps "$steps" --cuda-graph "$graph" --quiet
  done
  [[ -n $wanted ]] || missing=$((missing + 1))
  wanted=
  beside_cpu 1 && beside_cpu 2
  # Where digests are missing, none may have differed so far, which is no measurement.
  if ((different > 0 || missing == 0)); then figure digests_that_differ "$different"; fi
}
# Trains with a rank on the CPU and one on the GPU, whose shares of the work are fixed.
beside_cpu() { # run
  local name="a CPU rank beside a GPU rank, run $1" device command=()
  use "$small" fp32 && [[ -n $GPU_CHECK_MPIRUN ]] || return
  for device in cpu cuda; do
    command+=(-np 1 "$lockstep" train --device "$device" --model "$small" "${data[@]}" --lr 0.2 --batch-size "$batch"
      --max-steps 10 --micro-batches 4 --rank-weights '1,3' --threads 1 --quiet :)
  done
  compare_digest attempt "$name" 40 "$GPU_CHECK_MPIRUN" --quiet --oversubscribe --bind-to none \
    "${command[@]:0:${#command[@]}-1}"
}

# Prints the losses of a run, one per line.
losses_of() { sed -n 's/.*"event":"step".*"loss":\([-+.0-9e]*\).*/\1/p' "$1/metrics.jsonl"; } # run directory
# Compares the losses of the first steps with those on the CPU.
compare_losses() { # name option...
  local name=$1 device difference steps=100
  if [[ -n $GPU_CHECK_REHEARSE ]]; then steps=4; fi
  shift
  for device in cuda cpu; do
    attempt "$name on $device" 25 "$lockstep" train --device "$device" --model "$small" "${data[@]}" --max-steps "$steps" \
      --batch-size "$batch" --micro-batches 2 --run-dir "$logs/$name-$device" --quiet "$@" || return
    losses_of "$logs/$name-$device" >"$logs/$name-$device.txt"
    rm -rf "${logs:?}/$name-$device"
  done
  difference=$(paste "$logs/$name-cuda.txt" "$logs/$name-cpu.txt" | awk -v steps="$steps" 'NF == 2 {
    d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d; ++n} END {if (n == steps) printf "%.2e", most}')
  figure "${name}_difference" "$difference"
  if [[ -z $difference ]]; then
    verdict "$name" 0 "not $steps losses on both devices"
  else
    verdict "$name" 0 "$(awk "BEGIN {if ($difference > 1e-3) print \"losses differ by $difference\"}")"
  fi
}
stage_losses() {
  need_gpu
  use "$small" fp32 || skip "$small does not work in fp32"
  compare_losses loss --lr 0.2
  compare_losses loss_momentum --lr 0.05 --momentum 0.9
}

# Trains in the settings of the networks' texts. Nothing else looks at the GPU meanwhile.
train_to_accuracy() { # name model type epochs option...
  local name=$1 model=$2 type=$3 epochs=$4
  shift 4
  use "$model" "$type" || { not_run "$name" "$model does not work in $type" && return; }
  attempt "$name" 75 "$lockstep" train --device cuda --model "$model" --dtype "$type" "${data[@]}" --epochs "$epochs" \
    --batch-size "$batch" "$@" || return
  figure "${name}_test_accuracy" "$(sed -n 's/.*test acc \([0-9.]*\).*/\1/p' "$log" | tail -n 1)"
  figure "${name}_train_epoch_s" "$(sed -n 's/^epoch.* \([0-9.]*\) s .*/\1/p' "$log" | median)" s
  fact "${name}_digest" "$(digest_of "$log")"
}
stage_accuracy() {
  need_gpu
  local epochs=10
  if [[ -n $GPU_CHECK_REHEARSE ]]; then
    epochs=1
  elif [[ -z $GPU_CHECK_DATA ]]; then
    skip "no Fashion-MNIST: --data-dir, or unpack the data archive of the bundle"
  fi
  train_to_accuracy lenet "$small" fp32 "$epochs" --lr 0.2
  train_to_accuracy resnet18 "$large" bf16 "$epochs" --lr 0.1
  record quotient resnet18_epoch_of_torch resnet18_train_epoch_s torch_resnet18_best_epoch_s
}
