# A private Slurm cluster of two nodes, n1 and n2, on this machine: munged, slurmctld and two slurmd of the calling
# user, in one folder and on free ports. Source this file; start_cluster FOLDER starts the cluster and stop_cluster ends
# it. Nothing outside the folder changes, and an existing Slurm installation is not touched.
# shellcheck shell=bash

cluster=
export SLURM_CONF

# free_ports N: prints N consecutive TCP ports on which nothing listens.
free_ports() {
  local first port used
  used=$(awk 'FNR > 1 { split($2, address, ":"); print address[2] }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  for ((first = 21000 + RANDOM % 8000; ; first++)); do
    for ((port = first; port < first + $1; port++)); do
      ! grep -qx "$(printf '%04X' "$port")" <<<"$used" || continue 2
    done
    seq -s ' ' "$first" $((first + $1 - 1))
    return
  done
}

# start_cluster FOLDER: starts a cluster with three partitions: `batch`, `grace` with 20 s of grace time, and `urgent`,
# whose jobs preempt jobs of the other two. Slurm's timeouts are short so that tests take seconds: a node that does not
# answer is down after 15 s, and a requeued job starts after 6 s.
start_cluster() {
  local ports node
  cluster=$1
  mkdir -p "$cluster"/{state,munge}
  chmod 711 "$cluster" "$cluster/munge"
  read -r -a ports < <(free_ports 3)
  SLURM_CONF=$cluster/slurm.conf
  cat >"$SLURM_CONF" <<CONF
ClusterName=lockstep
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
TmpFS=$cluster/spool.%n/tmp
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,batch_sched_delay=1,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=15
InactiveLimit=0
KillWait=10
MinJobAge=600
MessageTimeout=5
NodeName=n[1-2] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=[${ports[1]}-${ports[2]}] CPUs=4 RealMemory=1000
PartitionName=batch Nodes=n1,n2 Default=YES PriorityTier=1
PartitionName=grace Nodes=n1,n2 PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=n1,n2 PriorityTier=10 PreemptMode=OFF
CONF
  mungekey --create --keyfile="$cluster/munge/key" || return
  munged --socket="$cluster/munge/socket" --key-file="$cluster/munge/key" --pid-file="$cluster/munge/pid" \
    --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" || return
  slurmctld -f "$SLURM_CONF" -c >"$cluster/slurmctld.out" 2>&1 || return
  for node in n1 n2; do start_node "$node" || return; done
  await 30 nodes_idle
}

# Each node has its own /dev/shm, because Open MPI names its segments there by the rank's number on its node.
node_command=(unshare --mount)
if [[ $EUID -ne 0 ]]; then node_command+=(--user --map-current-user --keep-caps); fi
node_command+=(sh -c 'mount -t tmpfs node /dev/shm && exec "$@"' sh)

start_node() {
  mkdir -p "$cluster/spool.$1/tmp"
  "${node_command[@]}" slurmd -f "$SLURM_CONF" -N "$1" >"$cluster/$1.out" 2>&1
}

nodes_idle() { [[ $(sinfo --noheader --partition=batch --states=idle --format=%D 2>/dev/null) == *2* ]]; }

# Prints the processes of a node: its daemon, the step daemons, and their children.
processes_of_node() {
  local process parent
  cat "$cluster/$1.pid" 2>/dev/null || true
  grep -lsz "^SLURM_CONF=$SLURM_CONF$" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r process; do
    grep -qsz "^SLURMD_NODENAME=$1$" "/proc/$process/environ" || continue
    parent=$(awk '{ print $4 }' "/proc/$process/stat" 2>/dev/null) || continue
    grep -qsx slurmstepd "/proc/$parent/comm" && printf '%s\n' "$parent"
    printf '%s\n' "$process"
  done
}

# lose_node NODE: kills all of a node's processes at once, as when its power fails. start_node brings it back.
lose_node() {
  local processes
  mapfile -t processes < <(processes_of_node "$1" | sort -u)
  kill -KILL "${processes[@]}" 2>/dev/null || true
  rm -f "$cluster/$1.pid"
}

stop_cluster() {
  local node file process
  [[ -n $cluster ]] || return 0
  scancel --me --signal=KILL 2>/dev/null || true
  for node in n1 n2; do lose_node "$node"; done
  for file in slurmctld.pid munge/pid; do
    [[ -s $cluster/$file ]] || continue
    process=$(<"$cluster/$file")
    kill "$process" 2>/dev/null || true
    while [[ -e /proc/$process ]]; do sleep 0.1; done  # wait until it has saved its state
  done
  cluster=
}
