#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/files/file.h"
#include "core/process/process.h"
#include "watch/activity.h"

namespace lockstep {

/// State of a rank that the other ranks of its host can read at any time, even after the rank has ended.
/// Written by the rank itself. Zero bytes are a rank that has not started yet.
struct alignas(64) RankMemory {
  std::atomic<std::uint64_t> process_start;
  std::atomic<std::uint64_t> process_space;
  std::atomic<std::int64_t> process;  ///< PID, stored after the rest of the identity; 0: not started
  std::atomic<std::int32_t> rank;
  /// Reason for a deliberate exit: all work is done, an error that all ranks know, or an error that this rank
  /// or a rank of another host has printed.
  enum class Ending : std::uint32_t { no, done, failed_together, failed };
  std::atomic<Ending> ending;
  alignas(64) std::atomic<std::uint64_t> beat;  ///< changed several times per second by the rank's monitor
  std::atomic<std::uint64_t> calls;             ///< calls in Device::activity(), stored by the monitor
  std::atomic<std::uint32_t> phase;             ///< Phase in Device::activity(), stored by the monitor
  std::atomic<std::uint64_t> usual_step;        ///< duration of a step, in ns; 0: no step is complete
  alignas(64) ActivityRing ring;

  ProcessId id() const { return {process.load(), process_start.load(), process_space.load()}; }
};

/// Memory of all ranks of this host in a file that they share: /dev/shm/lockstep-JOB-HOST, or in the folder
/// for temporary files. The file survives the end of ranks; the last rank removes it. A process that opens a
/// file that no living process uses empties it.
class JobMemory {
 public:
  /// Opens or makes the memory of `ranks` ranks. Throws Error(resource) if no folder can hold the file.
  JobMemory(const std::string& job, const std::string& host, int ranks);
  /// Allocates memory that is private to this process, without a file.
  JobMemory();
  ~JobMemory();
  JobMemory(const JobMemory&) = delete;
  JobMemory& operator=(const JobMemory&) = delete;

  RankMemory& rank(int local_rank) const { return slots()[local_rank]; }
  /// PID of the process that reports why the job ends, claimed once by compare-and-swap; 0: none.
  std::atomic<std::int64_t>& reporter() const { return header()->reporter; }
  /// Exit status of all ranks of this host once the reason is reported, else 0.
  std::atomic<std::int32_t>& ended() const { return header()->ended; }

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t device() const { return device_; }
  std::uint64_t inode() const { return inode_; }  ///< with `device`: identity of the file
  void remove() const;

 private:
  struct alignas(64) Header {
    std::atomic<std::int64_t> reporter;
    std::atomic<std::int32_t> ended;
  };
  Header* header() const { return reinterpret_cast<Header*>(data_.get()); }
  RankMemory* slots() const { return reinterpret_cast<RankMemory*>(data_.get() + sizeof(Header)); }
  std::size_t bytes() const { return sizeof(Header) + static_cast<std::size_t>(ranks_) * sizeof(RankMemory); }
  bool open_in(const std::filesystem::path& folder, const std::string& name);
  bool map(int descriptor);

  int ranks_;
  std::filesystem::path path_;
  FileDescriptor file_;  ///< locked, shared, by each process that uses it
  std::uint64_t device_ = 0, inode_ = 0;
  std::unique_ptr<std::byte, std::function<void(std::byte*)>> data_;
};

/// Folder /dev/shm/lockstep-JOB-mpi-segments, in which MPI keeps the segments of a job's ranks on this host.
/// In /dev/shm itself, two jobs in containers with the same host name and PIDs would use the same segments.
/// All ranks make the folder, and the last one removes it. Making a JobMemory removes folders that killed
/// ranks have left.
class SegmentFolder {
 public:
  /// Does not throw.
  explicit SegmentFolder(const std::string& job);
  ~SegmentFolder();
  SegmentFolder(const SegmentFolder&) = delete;
  SegmentFolder& operator=(const SegmentFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  ///< empty: the folder cannot be made

 private:
  std::filesystem::path path_;
  FileDescriptor folder_;  ///< locked, shared, by each process that uses it
};

/// Name of the job, from the environment, the same for all its ranks on a host; empty if unknown. It begins
/// with LOCKSTEP_JOB, which lockstep-run sets so that it can find the files.
std::string read_job(const std::function<const char*(const char*)>& lookup);

}  // namespace lockstep
