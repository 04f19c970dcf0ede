#!/usr/bin/env bash
# Runs the scripts of launcher/slurm on a private Slurm of two nodes on this machine (cluster.sh): sizes, cancel, time
# limit, loss of a node, preemption, requeue, wrong MPI, arrays, chains. Checks the states of jobs, that no step is
# lost, and that each digest equals that of one process. Takes about 5 minutes. The last line is "N of N passed"; the
# status is 77 if Slurm is not installed.
#   tests/slurm/run.sh [--program FILE] [CASE...]
#   --program FILE  lockstep-run, beside lockstep; default build/release/lockstep-run
#   CASE...         default: all, which --list prints
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=tests/slurm/cluster.sh
source "$here/cluster.sh"
# shellcheck source=tests/support/run_case.sh
source "$here/../support/run_case.sh"
root=$(dirname "$(dirname "$here")")
steps_an_epoch=8

# Prints the job's state, for `await`.
state() { say "job $job: $(field JobState), $(field Reason), restarts $(field Restarts)"; }

# ---- jobs

job=
run=
# submit OPTION... SCRIPT [OPTION...]: sets `job`, and `run` to its run directory.
submit() {
  await 60 nodes_idle
  job=$(sbatch --parsable "$@")
  run=runs/slurm-$job
}
# field NAME: prints a field of the job; nothing if slurmctld does not answer in time.
field() { scontrol show job -o "$job" 2>/dev/null | head -n 1 | tr ' ' '\n' | sed -n "s/^$1=//p"; }
restarted() {
  local restarts
  restarts=$(field Restarts)
  ((${restarts:-0} >= $1))
}
has_left_nodes() { [[ $(field JobState) != @(COMPLETING|) ]]; }
is_over() { [[ $(field JobState) != @(PENDING|RUNNING|SIGNALING|COMPLETING|SUSPENDED|CONFIGURING|) ]]; }
# ends_as STATE STATUS RESTARTS: waits for the job's end and checks how it ended.
ends_as() {
  await 90 is_over
  equal "job $job" "$(field JobState) $(field ExitCode) restarts $(field Restarts)" "$1 $2:0 restarts $3"
}
log_has() { grep -qE "$1" "lockstep-$job.out" || wrong "lockstep-$job.out has no line with: $1"; }

# ---- runs

# configure EPOCHS: writes the options of all runs, which a job reads at each start.
configure() {
  cat >new.cfg <<CONFIG
dataset = synthetic
synthetic-shape = 1x12x12
samples = 512
model = mlp:16
batch-size = 64
micro-batches = 4
checkpoint-every = 20
epochs = $1
CONFIG
  mv new.cfg run.cfg
}
newest_step() {
  local folders=("$run"/checkpoints/step-*[0-9])
  local step=${folders[-1]##*step-}
  [[ $step =~ ^[0-9]+$ ]] || step=0
  printf '%d' "$((10#$step))"
}
trains() { (($(newest_step) >= ${1:-20})); }
# finish_soon: makes an interrupted endless run end three epochs later.
finish_soon() { configure $(($(newest_step) / steps_an_epoch + 3)); }
digest_of_run() { sed -n 's/.*"event":"end","digest":"\([^"]*\)".*/\1/p' "$1/metrics.jsonl" 2>/dev/null; }
# complete [OPTION...]: checks that `run` has each step once, and the digest of an uninterrupted single-process run with
# these options.
complete() {
  local expected steps
  rm -rf reference
  "$program" train --config run.cfg --run-dir reference --quiet "$@" >reference.out 2>&1 || wrong "$(<reference.out)"
  expected=$(digest_of_run reference)
  equal "digest of $run" "$(digest_of_run "$run")" "$expected"
  steps=$(sed -n 's/^epochs = //p' run.cfg)
  steps=$((steps * steps_an_epoch))
  equal "steps of $run" "$(grep '"event":"step"' "$run/metrics.jsonl" | grep -oE '"step":[0-9]+' | sort | uniq -c |
    awk '$1 == 1' | wc -l)" "$steps"
}
endless=1000000
# begin OPTION... SCRIPT: starts an endless run and waits until it trains.
begin() {
  configure "$endless"
  submit "$@" --config run.cfg
  await 60 trains
}
# is_continued [SECONDS [OPTION...]]: checks that the job restarts once and the run completes. OPTION: see `complete`.
is_continued() {
  await "${1:-60}" restarted 1
  finish_soon
  ends_as COMPLETED 0 1
  complete "${@:2}"
}

# ---- cases

sizes() { # 1, 2 and 4 tasks on one and two nodes
  local shape
  configure 10
  for shape in "1 1" "1 2" "2 1" "2 2"; do
    submit --nodes="${shape% *}" --ntasks-per-node="${shape#* }" launcher/slurm/train.sbatch --config run.cfg
    ends_as COMPLETED 0 0
    complete
  done
}

mpirun_in_job() { # lockstep-run, whose mpirun starts its daemons by srun
  configure 10
  submit --nodes=2 --ntasks-per-node=1 --output=lockstep-%j.out \
    --wrap "build/release/lockstep-run train --config run.cfg --run-dir runs/slurm-\$SLURM_JOB_ID"
  ends_as COMPLETED 0 0
  complete
}

wrong_mpi() { # processes that MPI cannot connect: one line; a lone one needs no connection
  local mpi message step
  configure 10
  for mpi in none pmi2; do
    await 60 nodes_idle
    step=(srun --quiet "--mpi=$mpi")
    message=$("${step[@]}" --ntasks=2 "$program" train --config run.cfg --run-dir none 2>&1) && wrong "status 0"
    equal "lines" "$(grep -vc '^srun:' <<<"$message")" 1
    [[ $message == *"the launcher started 2 processes but MPI connected only 1: "*"srun --mpi=pmix"* ]] ||
      wrong "$message"
    run=runs/lone-$mpi
    "${step[@]}" --ntasks=1 "$program" train --config run.cfg --run-dir "$run" --quiet >alone.out 2>&1 ||
      wrong "a lone process: status $?: $(<alone.out)"
    complete
  done
}

cancel() { # scancel: the ranks save, the job is not revived, and can be continued by hand
  begin launcher/slurm/train.sbatch
  scancel "$job"
  await 90 is_over
  equal "job $job" "$(field JobState) restarts $(field Restarts)" "CANCELLED restarts 0"
  await 30 nodes_idle
  log_has "lockstep: stopped by SIG(TERM|USR1) .*at step $(newest_step);"
  finish_soon
  "$program" train --config run.cfg --run-dir "$run" --resume "$run" --quiet >by_hand.out
  complete
}

stop_by_user() { # SIGTERM to the script: a checkpoint, status 75, no requeue
  begin launcher/slurm/train.sbatch
  scancel --batch --signal=TERM "$job"
  ends_as FAILED 75 0
  log_has 'status 75; the job is not requeued: its script was asked to end'
}

time_limit() { # a signal before the limit: requeue
  configure "$endless"
  submit --time=1 launcher/slurm/train.sbatch --config run.cfg
  await 100 restarted 1
  log_has "lockstep: stopped by SIGUSR1 .*at step $(newest_step);"
  is_continued
  log_has "lockstep-srun: status 75; requeuing the job"
}

time_limit_without_signal() { # Slurm ends the ranks itself; they save within KillWait
  configure "$endless"
  submit --time=1 --signal=CONT@1 launcher/slurm/train.sbatch --config run.cfg
  is_continued 150
}

lose_other_node() { # the ranks end before Slurm notices; the job continues on the node that remains
  begin launcher/slurm/preemptible.sbatch
  equal "nodes" "$(field NumNodes)" 2
  lose_node n2
  is_continued
  equal "nodes" "$(field NodeList)" n1
  start_node n2
}

lose_batch_node() { # Slurm itself requeues
  begin launcher/slurm/preemptible.sbatch
  equal "nodes" "$(field NumNodes) $(field BatchHost)" "2 n1"
  lose_node n1
  is_continued
  equal "nodes" "$(field NodeList)" n2
  start_node n1
}

preempt() { # PARTITION
  local urgent
  begin --partition="$1" launcher/slurm/preemptible.sbatch
  urgent=$(sbatch --parsable --partition=urgent --nodes=2 --exclusive --output=/dev/null --wrap "sleep 1")
  await 60 restarted 1
  await 30 has_left_nodes
  log_has "lockstep: stopped by SIG(TERM|USR1) .*at step $(newest_step);"
  is_continued
  job=$urgent
  ends_as COMPLETED 0 0
}
preempt_at_once() { preempt batch; }
preempt_with_grace() { preempt grace; }

requeue_by_hand() { # scontrol requeue
  begin launcher/slurm/train.sbatch
  scontrol requeue "$job"
  await 60 restarted 1
  await 30 has_left_nodes
  is_continued
}

requeue_exit() { # the administrator's setting, with plain srun
  configure "$endless"
  printf 'RequeueExit=75\n' >>"$SLURM_CONF"
  scontrol reconfigure
  submit --nodes=2 --output=lockstep-%j.out --open-mode=append \
    --wrap "srun --mpi=pmix $program train --config run.cfg --run-dir runs/slurm-\$SLURM_JOB_ID --resume auto"
  await 60 trains
  scancel --signal=TERM "$job"
  is_continued
  sed -i '/^RequeueExit/d' "$SLURM_CONF"
  scontrol reconfigure
}

ranks() { grep -lsz "^SLURM_JOB_ID=$job$" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r process; do
  [[ $(readlink "/proc/$process/exe") != "$program" ]] || say "$process"
done; }

kill_rank() { # a rank is killed on a healthy node
  begin launcher/slurm/train.sbatch
  kill -KILL "$(ranks | tail -n 1)"
  is_continued
}

restart_changes_nothing() { # usage
  submit launcher/slurm/train.sbatch --model no-such-model
  ends_as FAILED 2 0
  log_has 'status 2; the job is not requeued: a restart changes nothing'
}

bounded() { # two failures without a new checkpoint, and --max-requeues
  configure "$endless"
  submit --output=lockstep-%j.out --open-mode=append --nodes=1 --requeue \
    --wrap "launcher/slurm/lockstep-srun --program build/release/fails train"
  ends_as FAILED 5 1
  log_has 'status 5; the job is not requeued: it failed twice without a new checkpoint'
  submit --output=lockstep-%j.out --open-mode=append --nodes=1 --requeue --time=1 --signal=USR1@60 \
    --wrap "launcher/slurm/lockstep-srun --max-requeues 0 train --config run.cfg"
  ends_as FAILED 75 0
  log_has 'not requeued: it has been started again 0 times \(--max-requeues\)'
}

chain() { # an array whose elements run one after the other; nothing is requeued
  local first
  begin --array=1-3%1 --no-requeue --output=lockstep-%A.out launcher/slurm/preemptible.sbatch
  first=$job
  scontrol hold "${first}_2" "${first}_3"
  scancel --signal=TERM "${first}_1"
  job=${first}_1
  await 30 is_over
  finish_soon
  scontrol release "${first}_2" "${first}_3"
  job=${first}_1
  ends_as FAILED 75 0
  job=${first}_2
  ends_as COMPLETED 0 0
  complete
  job=${first}_3
  ends_as COMPLETED 0 0
  job=$first
  log_has 'nothing to do'
}

array() { # a run for each value, and their results
  local first value
  configure 5
  submit --array=0-2 --export=ALL,SWEEP="--lr 0.05 0.1 0.2" --cpus-per-task=1 launcher/slurm/array.sbatch \
    --config run.cfg
  first=$job
  for value in 0 1 2; do
    job=${first}_$value
    ends_as COMPLETED 0 0
  done
  value=0
  for rate in 0.05 0.1 0.2; do
    run=runs/slurm-${first}_$value
    complete --lr "$rate"
    grep -q "^--lr $rate  .*test_accuracy:.*  $(digest_of_run "$run")$" "runs/slurm-$first.txt" ||
      wrong "runs/slurm-$first.txt: $(<"runs/slurm-$first.txt")"
    value=$((value + 1))
  done
  grep -q "^--lr 0.2 " "lockstep-${first}"_*.out || wrong "no log has the results"
}

array_ends() { # one element is asked to end, and a rank of the last, which has the array's number, is killed
  local first
  configure "$endless"
  submit --array=0-1 --cpus-per-task=1 launcher/slurm/array.sbatch --config run.cfg
  first=$job
  run=runs/slurm-${first}_0
  await 60 trains
  run=runs/slurm-${first}_1
  await 60 trains
  kill -KILL "$(ranks | tail -n 1)"
  scancel --batch --signal=TERM "${first}_0"
  job=${first}_0
  ends_as FAILED 75 0
  job=${first}_1
  is_continued 60 --seed 1
}

image() { # an image, with a stand-in for Apptainer that checks what the image would see
  configure 10
  submit --export=ALL,"IMAGE=$PWD/lockstep.sif,PATH=$PWD/bin:$PATH" launcher/slurm/apptainer.sbatch --config run.cfg
  ends_as COMPLETED 0 0
  complete
}

rank_logs() { # a file for each rank, also
  configure 10
  submit --output=lockstep-%j.out --nodes=2 \
    --wrap "launcher/slurm/lockstep-srun --rank-logs logs train --config run.cfg"
  ends_as COMPLETED 0 0
  grep -q '^digest ' "logs/$job-0.log" || wrong "logs/$job-0.log has no digest"
  [[ -e logs/$job-1.log ]] || wrong "no logs/$job-1.log"
  complete
}

cases=(sizes mpirun_in_job wrong_mpi cancel stop_by_user time_limit time_limit_without_signal lose_other_node
  lose_batch_node preempt_at_once preempt_with_grace requeue_by_hand requeue_exit kill_rank restart_changes_nothing
  bounded chain array array_ends image rank_logs)

# ---- main

choose_cases --program "$@"
launcher=${value:-$root/build/release/lockstep-run}
PATH=$PATH:/usr/sbin
for needed in slurmctld slurmd sbatch munged mungekey; do
  command -v "$needed" >/dev/null ||
    skip "no $needed; apt-get install --no-install-recommends slurmctld slurmd slurm-client munge"
done
"${node_command[@]}" true 2>/dev/null ||
  skip "this system permits no mount namespaces (unshare --mount), and each node needs a /dev/shm of its own"
[[ -x $launcher ]] || die 4 "no program $launcher; build it: cmake --preset release && cmake --build --preset release"
program=$(dirname "$(readlink -f "$launcher")")/lockstep

# A source tree from which jobs are submitted. Slurm's folder is outside the tree, so an image must be given access to
# it.
folder=$(mktemp -d)
chmod 711 "$folder"  # munge demands that others can reach its socket
work=$folder/tree
trap 'stop_cluster; rm -rf "$folder"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
mkdir -p "$work"/{launcher,build/release,bin}
cp -r "$root/launcher/slurm" "$work/launcher/"
ln -s "$program" "$work/build/release/lockstep"
ln -s "$(readlink -f "$launcher")" "$work/build/release/lockstep-run"
printf '#!/bin/sh\nexit 5\n' >"$work/build/release/fails"
cat >"$work/bin/apptainer" <<APPTAINER
#!/bin/bash
[[ \$1 == exec && \$2 == */lockstep.sif && \$3 == lockstep ]] || exit 2
for folder in \${APPTAINER_BIND//,/ }; do [[ \$PMIX_SERVER_TMPDIR == "\$folder"/* ]] && exec "$program" "\${@:4}"; done
echo "the image does not see \$PMIX_SERVER_TMPDIR" >&2
exit 4
APPTAINER
chmod +x "$work"/bin/apptainer "$work"/build/release/fails
cd "$work"

unset "${!SLURM_@}" "${!SBATCH_@}" "${!LOCKSTEP_@}" "${!SRUN_@}"
export SLURM_CONF LOCKSTEP_DEVICE=cpu LOCKSTEP_THREADS=1 OMPI_MCA_btl_tcp_if_include=lo OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
start_cluster "$folder/cluster" ||
  die 4 "no private Slurm: $(tail -n 3 "$folder"/cluster/*.out "$folder"/cluster/*.log)"

# After a failed case, resets the nodes, because its job may still hold them.
after_case() {
  local log
  ((case_status != 0)) || return 0
  for log in lockstep-*.out; do
    [[ $log -nt $work/run.cfg ]] || continue
    grep -vE '^(epoch|srun: cluster) ' "$log" | tail -n 20 | sed "s/^/  $log: /"
  done
  stop_cluster
  rm -rf lockstep-*.out runs
  start_cluster "$folder/cluster-$1" || die 4 "no private Slurm after a failure"
}
run_cases
