#!/usr/bin/env bash
# Builds the images of docker/ and deploy/kubernetes from the bundle of a build folder, and runs them with podman: not as
# root, on a read-only root filesystem, with and without what they need, in one container, in one per rank, and on
# "hosts", which are network namespaces. Images and containers are in a folder of their own, removed at the end. Takes
# about 3 minutes, one more if the base image must be built. The last line is "N of N passed"; the status is 77 if
# something is missing.
#   tests/containers/run.sh [--build DIR] [CASE...]
#   --build DIR  build folder, with the archives of the targets bundle and bundle-data; default build/release. If it is
#                for another processor (build/arm64), qemu runs the programs of the containers
#   CASE...      default: all (see --list); on another processor: image words one_container workspace
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(dirname "$(dirname "$here")")
max_compressed_bytes=100000000
# shellcheck source=tests/support/run_case.sh
source "$here/../support/run_case.sh"
# shellcheck source=tests/support/network.sh
source "$here/../support/network.sh"

# has TEXT PATTERN
has() { grep -qE -- "$2" <<<"$1" || wrong "no line with '$2' in: $1"; }

# Prints the launcher's last lines, for `await`.
state() { podman logs launcher 2>&1 | tail -n 3; }

# ---- images and containers

podman() { command podman "${podman_options[@]}" "$@"; }

# All containers run as a non-root user without privileges and can write only to mounted volumes, as at Kubernetes'
# level "restricted".
restricted=(--network=host --no-healthcheck --read-only --read-only-tmpfs=false --cap-drop=all
  --security-opt=no-new-privileges --ulimit=nofile=20000:20000 --ulimit=nproc=4096:4096)
# run OPTION... IMAGE ARGUMENT...
run() { podman run --rm "${restricted[@]}" "$@"; }

# build_image NAME DOCKERFILE [OPTION...]
build_image() {
  local name=$1 file=$2
  shift 2
  buildah bud "${storage[@]}" --isolation=chroot --pull=never --format=docker --tag="$name" "$@" --file="$file" \
    ${architecture:+--arch="$architecture"} "$context" >"$work/build.log" 2>&1 || wrong "$(tail -n 20 "$work/build.log")"
}

# import_base NAME...: imports the base image under these names.
import_base() {
  local name
  tar -C "$base" -c . | podman import --quiet ${architecture:+--arch="$architecture"} - "$1" >/dev/null
  for name in "${@:2}"; do podman tag "$1" "$name"; done
}

# Makes a minimal Debian without the files that Docker's debian:bookworm-slim also lacks, and caches it for the next
# run.
make_base() {
  [[ -e $base/etc/debian_version ]] && return
  rm -rf "$base" "$base.new" && mkdir -p "$base.new" &&
    "$root/launcher/bare.sh" ${architecture:+--architecture "$architecture"} --system "$base.new" >"$base.log" 2>&1 ||
    return
  rm -rf "$base.new"/{var/cache/apt,var/lib/apt/lists,usr/share/{man,locale,info}}/*
  find "$base.new/usr/share/doc" -type f ! -name copyright -delete
  mv "$base.new" "$base"
}

# ---- runs

options=(--dataset synthetic --synthetic-shape 1x12x12 --samples 512 --model mlp:16 --batch-size 64 --micro-batches 4
  --device cpu --threads 1)
train=(train "${options[@]}" --epochs 5 --run-dir none)
# same_digest OUTPUT: expects the digest of the program in the build folder.
same_digest() { equal digest "$(digest "$1")" "$expected"; }
# trains_alike COMMAND...: trains, expects that digest, and sets `output`.
trains_alike() {
  output=$("$@" 2>&1)
  same_digest "$output"
}
error_line() { grep -c '^lockstep[a-z-]*: error: ' <<<"$1" || true; }

# ---- hosts

# space_of NUMBER: prints the network namespace of host h1, h2, ... with the address 10.213.7.NUMBER.
space_of() { echo "$network-$(($1 - 1))"; }
hosts=4  # the last one runs the launcher

# pod NUMBER NAME COMMAND...: starts a container of the ssh image on a host, with the volumes of
# deploy/kubernetes/jobset.yaml.
pod() {
  local number=$1 name=$2 other
  local place=("--network=ns:/run/netns/$(space_of "$number")" "--hostname=$name")
  shift 2
  for other in 1 2 3; do place+=("--add-host=h$other:10.213.7.$other"); done
  podman run --detach "${restricted[@]:1}" "${place[@]}" --name="$name" --tmpfs=/tmp --shm-size=64m \
    --volume="$work/ssh:/home/lockstep/.ssh:ro" --volume="$work/runs:/runs" --entrypoint="$1" lockstep-ssh "${@:2}" \
    >/dev/null
}
worker() { pod "$1" "h$1" lockstep-worker; }
listens() { ip netns exec "$(space_of "$1")" bash -c "exec 3<>/dev/tcp/10.213.7.$1/2222" 2>/dev/null; }
launcher() { pod "$hosts" launcher lockstep-run --grace 60 --mca orte_keep_fqdn_hostnames true "$@"; }
remove_pods() { podman rm --force --time=0 --ignore h1 h2 h3 launcher >/dev/null 2>&1 || true; }

make_ssh() {
  [[ -d $work/ssh ]] && return
  context=$root/deploy/kubernetes build_image lockstep-ssh "$root/deploy/kubernetes/Dockerfile"
  mkdir -p "$work/ssh" "$work/runs"
  chmod 777 "$work/ssh" "$work/runs"
  run --volume="$work/ssh:/ssh" --entrypoint=ssh-keygen lockstep-ssh -q -t ed25519 -N '' -f /ssh/id_rsa
  cp "$work/ssh/id_rsa.pub" "$work/ssh/authorized_keys"
  # Kubernetes mounts a Secret like this: owned by root, readable by the group of the pod.
  chown root:1000 "$work"/ssh/*
  chmod 440 "$work"/ssh/*
  chmod 755 "$work/ssh"
}

# ---- cases

image() { # labels, user, size, list of packages
  local facts version bytes
  version=$(run lockstep --version | awk '$1 == "lockstep" { print $2 }')
  facts=$(podman inspect --format '{{json .Config.Labels}}' lockstep)
  has "$facts" "\"org.opencontainers.image.version\":\"$version\""
  has "$facts" "\"org.opencontainers.image.revision\":\"0123abc\""
  has "$facts" '"org.opencontainers.image.licenses":"Apache-2.0"'
  equal user "$(podman inspect --format '{{.Config.User}}' lockstep)" 1000
  equal "entry point" "$(podman inspect --format '{{.Config.Entrypoint}}' lockstep)" "[entrypoint.sh]"
  podman save --quiet --format=oci-archive --output="$work/image.tar" lockstep
  bytes=$(stat -c %s "$work/image.tar")
  say "  $bytes bytes compressed" >&4
  ((bytes <= max_compressed_bytes)) || wrong "$bytes bytes compressed, more than $max_compressed_bytes"
  facts=$(run --entrypoint=cat lockstep /opt/lockstep/lockstep.spdx.json)
  has "$facts" '"spdxVersion": "SPDX-2.3"'
  has "$facts" '"name": "libopenmpi3"'
  has "$facts" '"referenceLocator": "pkg:deb/'
}

words() { # the entry point: a program's name, a command of lockstep with the name of a program, none
  local output
  output=$(run lockstep)
  has "$output" '^Commands:'
  output=$(run lockstep lockstep-run --version)
  has "$output" '^lockstep-run '
  output=$(run lockstep diff nothing here 2>&1) && wrong "status 0"
  equal "errors of diff" "$(error_line "$output")" 1
}

one_container() { # one and two ranks, the data set of the image, another user
  local output
  trains_alike run lockstep "${train[@]}"
  trains_alike run --tmpfs=/tmp lockstep lockstep-run -np 2 "${train[@]}"
  has "$output" 'exchange by shared memory'
  trains_alike run --tmpfs=/tmp lockstep mpirun --oversubscribe --bind-to none -np 2 lockstep "${train[@]}"
  trains_alike run --user=4711 --tmpfs=/tmp lockstep lockstep-run -np 2 "${train[@]}"
  output=$(run --tmpfs=/tmp lockstep doctor --device cpu 2>&1)
  has "$output" 'fashion-mnist: 60000 training and 10000 test samples'
}

workspace() { # a run directory in a folder of the host
  local output
  mkdir -p "$work/workspace"
  chmod 777 "$work/workspace"
  trains_alike run --tmpfs=/tmp --volume="$work/workspace:/workspace" lockstep lockstep-run -np 2 train "${options[@]}" \
    --epochs 5 --run-dir runs/a
  [[ -s $work/workspace/runs/a/metrics.jsonl ]] || wrong "no run directory: $output"
  output=$(run --tmpfs=/tmp lockstep lockstep-run -np 2 train "${options[@]}" --run-dir runs/a 2>&1) && wrong "status 0"
  equal "lines" "$(error_line "$output")" 1
  has "$output" 'runs/?a?.*Read-only file system'
}

needs_tmpfs() { # one line, status 4
  local output status=0
  output=$(run lockstep lockstep-run -np 2 "${train[@]}" 2>&1) || status=$?
  equal status "$status" 4
  equal output "$output" "lockstep-run: error: mpirun needs a folder for its session, but /tmp cannot be written to: \
Read-only file system; in a container, add --tmpfs=/tmp; elsewhere, set TMPDIR to another folder"
  trains_alike run --tmpfs=/scratch:mode=1777 --env=TMPDIR=/scratch lockstep lockstep-run -np 2 "${train[@]}"
}

needs_shared_memory() { # with too little, a warning, and messages by TCP instead of SIGBUS
  local output size
  for size in 1m 9m; do
    trains_alike run --tmpfs=/tmp --shm-size=$size lockstep lockstep-run -np 4 "${train[@]}" --transport messages
    equal "warnings" "$(grep -c 'warning: /dev/shm has .* but MPI needs 16 MiB there for 4 ranks.*--shm-size=1g' \
      <<<"$output" || true)" 1
  done
  trains_alike run --tmpfs=/tmp --shm-size=64m lockstep lockstep-run -np 4 "${train[@]}" --transport messages
  ! grep -q /dev/shm <<<"$output" || wrong "$output"
}

# Starts ranks with this machine's mpirun, each in its own container.
by_host() {
  mpirun --oversubscribe --bind-to none -np 2 podman "${podman_options[@]}" run --rm "$@" --env='OMPI_*' --env='PMIX_*' \
    lockstep "${train[@]}" 2>&1
}
container_per_rank() { # no shared /proc, so ranks communicate by messages
  local output
  command -v mpirun >/dev/null || { say "  skipped: no mpirun on this machine" >&4 && return; }
  output=$(by_host "${restricted[@]}" --ipc=host --volume=/tmp:/tmp --user=0) || wrong "status $?: $output"
  same_digest "$output"
  has "$output" '2 ranks x .*exchange by messages'
}
other_network() { # mpirun's server cannot be reached: one line
  local output
  command -v mpirun >/dev/null || { say "  skipped: no mpirun on this machine" >&4 && return; }
  output=$(by_host "${restricted[@]:1}" --network=none --tmpfs=/tmp --user=0) && wrong "status 0"
  equal "lines of lockstep" "$(error_line "$output")" 1
  has "$output" 'cannot be reached: a container that mpirun or srun starts needs the network of the host, --network=host'
  ! grep -q 'MPI_ERRORS_ARE_FATAL' <<<"$output" || wrong "$output"
}

two_hosts() { # lockstep-run in a third container, by ssh; a worker that is not there
  local output status
  make_ssh
  worker 1
  worker 2
  await 20 listens 1
  await 20 listens 2
  launcher --host h1,h2 "${train[@]}"
  equal "status" "$(podman wait launcher)" 0
  output=$(podman logs launcher 2>&1)
  same_digest "$output"
  has "$output" '2 ranks x .*exchange by messages'
  podman rm --force --time=0 h2 launcher >/dev/null
  launcher --host h1,h2 "${train[@]}"
  status=$(podman wait launcher)
  output=$(podman logs launcher 2>&1)
  [[ $status != 0 ]] || wrong "status 0: $output"
  has "$output" 'ssh: connect to host h2 port 2222'
}

# Imitates a cluster's restart policy: stops with a grace time (status 75), then restarts all containers on a different
# number of hosts.
configure() { printf 'epochs = %s\n' "$1" >"$work/runs/run.cfg"; }
trains() { compgen -G "$work/runs/lockstep/checkpoints/step-*[0-9]" >/dev/null; }
checkpoints() { compgen -G "$work/runs/lockstep/checkpoints/step-*[0-9]" | sort | tail -n 1; }
moved() { [[ $(checkpoints) != "$1" ]]; }
start_job() { # HOST...: workers on these, and the launcher
  local host names
  for host in "$@"; do worker "$host"; done
  for host in "$@"; do await 20 listens "$host"; done
  names=$(printf 'h%s,' "$@")
  launcher --host "${names%,}" train "${options[@]}" --config /runs/run.cfg --checkpoint-every 20 --run-dir=/runs/lockstep \
    --resume=auto
}
kubernetes() {
  local before output epochs status
  make_ssh
  rm -rf "$work/runs/lockstep"
  configure 1000000
  start_job 1 2
  await 60 trains
  podman stop --time=60 h2 >/dev/null  # a worker is preempted
  equal "status of the launcher" "$(podman wait launcher)" 75
  equal "status of the worker" "$(podman wait h2)" 75
  before=$(checkpoints)
  remove_pods
  start_job 3  # on one worker
  await 60 moved "$before"
  podman stop --time=60 launcher >/dev/null  # the launcher is preempted
  equal "status of the launcher" "$(podman wait launcher)" 75
  before=$(checkpoints)
  remove_pods
  epochs=$((10#${before##*step-} / 8 + 3))
  configure "$epochs"
  start_job 1 2 3  # on three
  status=$(podman wait launcher)
  equal "status of the launcher: $(podman logs launcher 2>&1 | tail -n 5)" "$status" 0
  output=$(podman logs launcher 2>&1)
  equal digest "$(digest "$output")" "$(digest "$(run_built train "${options[@]}" --epochs "$epochs" --run-dir none 2>&1)")"
  equal "steps" "$(grep -c '"event":"step"' "$work/runs/lockstep/metrics.jsonl")" $((epochs * 8))
}

# Starts processes in h1 with the names of Open MPI's daemon and of a rank. The rank starts after the worker, asked to
# stop, has looked for ranks once: only then does process 1 start a sleep.
start_late_rank() {
  podman exec --detach h1 bash -c '
    printf orted >/proc/$$/comm
    until grep -qs "^[0-9]* (sleep) . 1 " /proc/[0-9]*/stat; do sleep 0.1; done
    bash -c "printf lockstep >/proc/\$\$/comm; trap \"exit 75\" TERM; while :; do sleep 0.1; done" || echo $? >/runs/late'
}
is_started() { podman exec h1 bash -c 'grep -qsx orted /proc/[0-9]*/comm'; }
late_rank() { # a worker is preempted before its rank starts
  make_ssh
  worker 1
  await 20 listens 1
  start_late_rank
  await 20 is_started
  podman stop --time=20 h1 >/dev/null
  equal "status of the worker" "$(podman wait h1)" 75
  equal "status of the rank" "$(cat "$work/runs/late")" 75
}

cuda() { # the image for GPUs, on a stand-in for NVIDIA's: built and started, without a GPU
  local output
  podman image exists lockstep-cuda || build_cuda_image
  trains_alike run --tmpfs=/tmp lockstep-cuda lockstep-run -np 2 "${train[@]}"
  equal "settings" "$(podman inspect --format '{{.Config.Entrypoint}} {{.Config.User}} {{json .Config.Labels}}' lockstep-cuda)" \
    "$(podman inspect --format '{{.Config.Entrypoint}} {{.Config.User}} {{json .Config.Labels}}' lockstep)"
}
build_cuda_image() {
  local version
  version=$(sed -n 's/^ARG CUDA=//p' "$root/docker/Dockerfile.cuda")
  printf 'FROM debian:bookworm-slim\nRUN useradd --create-home --uid 1000 ubuntu\n' >"$work/Dockerfile.base"
  build_image docker.io/nvidia/cuda:"$version"-cudnn-devel-ubuntu24.04 "$work/Dockerfile.base"
  podman tag docker.io/nvidia/cuda:"$version"-cudnn-{devel,runtime}-ubuntu24.04
  build_image lockstep-cuda "$root/docker/Dockerfile.cuda" --build-arg=REVISION=0123abc
}

# section NAME: prints the commands of a section of the Apptainer definition, which Buildah and Podman run here.
section() { awk -v name="%$1" '/^%/ { on = $1 == name; next } on' "$root/deploy/apptainer/lockstep.def"; }
in_apptainer() { run --tmpfs=/tmp --entrypoint=sh lockstep-apptainer -ec "$(section environment && section "$1")" "$@"; }
apptainer_definition() {
  local output version
  mkdir -p "$context/build/release"
  ln -f "$context"/docker/archives/* "$context/build/release/"
  section post >"$context/post.sh"
  {
    sed -n 's/^From: /FROM /p' "$root/deploy/apptainer/lockstep.def"
    section files | awk 'NF { print "COPY", $1, $2 }'
    printf 'COPY post.sh /\nRUN sh -e /post.sh\n'
  } >"$work/Dockerfile.apptainer"
  build_image lockstep-apptainer "$work/Dockerfile.apptainer"
  version=$(run lockstep --version)
  output=$(in_apptainer test 2>&1)
  has "$output" "^$(head -n 1 <<<"$version")\$"
  has "$output" '^digest '
  trains_alike in_apptainer runscript lockstep-run -np 2 "${train[@]}"
  trains_alike in_apptainer runscript "${train[@]}"
}

cases=(image words one_container workspace needs_tmpfs needs_shared_memory container_per_rank other_network two_hosts
  kubernetes late_rank cuda apptainer_definition)

# ---- main

choose_cases --build "$@"
build=$(readlink -f "${value:-$root/build/release}")
[[ $EUID -eq 0 ]] || skip "not root, which network namespaces and debootstrap need"
for needed in podman buildah ip; do
  command -v "$needed" >/dev/null ||
    skip "no $needed; apt-get install --no-install-recommends podman buildah runc iproute2"
done
# shellcheck source=tests/support/other_processor.sh
source "$here/../support/other_processor.sh"
if [[ ${#chosen[@]} -eq 0 && -n $architecture ]]; then chosen=(image words one_container workspace); fi
for archive in "$build"/lockstep-*64.tar.gz "$build"/lockstep-*-data.tar.gz; do
  [[ -e $archive ]] || die 4 "no $archive; build it: cmake --build $build --target bundle bundle-data"
done

work=$(mktemp -d)
base=$root/build/containers/debian${architecture:+-$architecture}
context=$work/context
network=containers$$
storage=("--root=$work/storage" "--runroot=$work/run")
podman_options=("${storage[@]}" --cgroup-manager=cgroupfs --events-backend=file)
if command -v runc >/dev/null; then podman_options+=("--runtime=$(command -v runc)"); fi
clean_up() {
  remove_pods
  remove_network "$network" "$hosts"
  umount "$work/storage/overlay" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
exec 4>&1
unset "${!LOCKSTEP_@}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$(dirname "$base")"

make_base || skip "no Debian can be installed for the base image: $(tail -n 1 "$base.log")"
mkdir -p "$context/docker/archives"
tar -C "$root" -c docker launcher recipes LICENSE | tar -C "$context" -x
cp "$build"/lockstep-*64.tar.gz "$build"/lockstep-*-data.tar.gz "$context/docker/archives/"
import_base docker.io/library/debian:bookworm-slim
(build_image lockstep "$root/docker/Dockerfile" --build-arg=REVISION=0123abc) || die 4 "the image cannot be built"
expected=$(digest "$(run_built "${train[@]}" 2>&1)")
[[ -n $expected ]] || die 4 "$build/lockstep prints no digest"
make_network "$network" 10.213.7 "$hosts"

after_case() { remove_pods; }
run_cases
