#include "comm/world/peer_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/awaited_counter.h"

namespace lockstep {
namespace {

struct Identity {
  std::int64_t process;
  std::uint64_t namespace_id;
};

Identity own_identity() {
  struct stat status {};
  const bool known = stat("/proc/self/ns/pid", &status) == 0;
  return {getpid(), known ? status.st_ino : 0};
}

/// A process that has ended but that nobody waited for: kill() still finds it.
bool is_zombie(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[256];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* name_end = std::strrchr(text, ')');  // "pid (name) state ..."
  return name_end != nullptr && (name_end[2] == 'Z' || name_end[2] == 'X');
}

bool has_ended(pid_t process) { return (kill(process, 0) != 0 && errno == ESRCH) || is_zombie(process); }

}  // namespace

PeerWatch::PeerWatch(const MpiGroup& host, int first) : next_(std::chrono::steady_clock::now()) {
  const Identity own = own_identity();
  std::vector<Identity> all(static_cast<std::size_t>(host.size()));
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, host.get()),
            "MPI_Allgather");
  const int rank = host.rank();
  for (int i = 0; i < host.size(); ++i) {
    const Identity& peer = all[static_cast<std::size_t>(i)];
    if (i == rank || peer.namespace_id == 0 || peer.namespace_id != own.namespace_id) continue;
    peers_.push_back({first + i, static_cast<pid_t>(peer.process)});
  }
}

void PeerWatch::check() {
  const Time now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  for (const Peer& peer : peers_) {
    if (has_ended(peer.process)) found(peer, now);
  }
}

void PeerWatch::found(const Peer& ended, Time now) {
  if (!first_found_) first_found_ = now;
  if (now - *first_found_ < std::chrono::seconds(3)) return;
  throw Error(Category::peer, "rank " + std::to_string(ended.rank) + " (process " +
                                  std::to_string(ended.process) + ") has ended");
}

void complete(std::span<MPI_Request> requests, PeerWatch& watch) {
  int done = 0;
  for (Polling polling;;) {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done != 0) return;
    if (polling.pause()) watch.check();
  }
}

void complete(MPI_Request& request, PeerWatch& watch) { complete(std::span(&request, 1), watch); }

}  // namespace lockstep
