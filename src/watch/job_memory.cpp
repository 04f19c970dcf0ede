#include "watch/job_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "core/files/temporary_folder.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string file_name(const std::string& job, const std::string& host) {
  std::string name = "lockstep-" + job + "-" + host;
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-._", c) != nullptr;
    if (!plain) c = '_';
  }
  return name.substr(0, 200);
}

/// Without O_NONBLOCK, open waits up to 45 s for a process that holds a lease on the file.
constexpr int open_flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

bool is_own_file(const struct stat& status) { return status.st_uid == geteuid() && S_ISREG(status.st_mode); }

constexpr const char* segments_end = "mpi-segments";  ///< end of a SegmentFolder's name

bool is_own_folder(const struct stat& status) {
  return status.st_uid == geteuid() && S_ISDIR(status.st_mode);
}

FileDescriptor open_segments(const std::filesystem::path& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Removes a SegmentFolder that no process uses. Deletes only segments: the name does not prove that the
/// folder is lockstep's.
void remove_unused_segments(const std::filesystem::path& path) {
  const FileDescriptor folder = open_segments(path);
  if (folder.get() < 0 || flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("vader_segment.") || name.starts_with("sm_segment.")) ::unlink(entry.path().c_str());
  }
  ::rmdir(path.c_str());
}

/// Opens or creates a memory-backed file, directly instead of through files(). Refuses files of other users.
FileDescriptor open_own(const std::filesystem::path& path) {
  struct stat status {};
  const bool foreign = lstat(path.c_str(), &status) == 0 && !is_own_file(status);
  FileDescriptor file(foreign ? -1 : ::open(path.c_str(), open_flags | O_CREAT, 0600));
  if (file.get() >= 0 && fstat(file.get(), &status) == 0 && is_own_file(status)) return file;
  if (foreign || file.get() >= 0) errno = EACCES;
  return FileDescriptor();
}

/// Removes files of this program in `folder` that no process uses; killed processes leave them.
void remove_unused(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("lockstep-")) continue;
    struct stat status {};
    if (lstat(entry.path().c_str(), &status) != 0) continue;
    if (is_own_folder(status) && name.ends_with(segments_end)) remove_unused_segments(entry.path());
    if (!is_own_file(status)) continue;
    const FileDescriptor file(::open(entry.path().c_str(), open_flags));
    const bool own = file.get() >= 0 && fstat(file.get(), &status) == 0 && is_own_file(status);
    if (own && flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
}

bool is_linked(const FileDescriptor& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 && status.st_nlink > 0;
}

}  // namespace

JobMemory::JobMemory(const std::string& job, const std::string& host, int ranks) : ranks_(ranks) {
  const std::string name = file_name(job, host);
  remove_unused("/dev/shm");
  if (open_in("/dev/shm", name) || open_in(temporary_folder(), name)) return;
  const std::string reason = std::strerror(errno);
  throw Error(Category::resource,
              fmt::format("cannot make {} in /dev/shm or {}: {}; the ranks of a host share it", name,
                          temporary_folder().string(), reason));
}

JobMemory::JobMemory() : ranks_(1) { map(-1); }

JobMemory::~JobMemory() {
  if (file_.get() < 0) return;
  if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) remove();  // nobody else uses it
}

void JobMemory::remove() const {
  if (!path_.empty()) ::unlink(path_.c_str());
}

/// A process that gets the exclusive lock is the only user of the file, so the file is new, or killed
/// processes left it.
bool JobMemory::open_in(const std::filesystem::path& folder, const std::string& name) {
  path_ = folder / name;
  for (int attempt = 0; attempt < 100; ++attempt) {
    file_ = open_own(path_);
    if (file_.get() < 0) return false;
    const bool unused = flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
    if (unused && ftruncate(file_.get(), 0) != 0) return false;
    if (flock(file_.get(), LOCK_SH) != 0) return false;
    if (is_linked(file_)) return map(file_.get());
  }
  return false;
}

/// Reserves the memory, because a write to a full file system would end the process.
bool JobMemory::map(int descriptor) {
  const auto length = static_cast<off_t>(bytes());
  if (const int error = descriptor >= 0 ? posix_fallocate(descriptor, 0, length) : 0; error != 0) {
    remove();
    errno = error;
    return false;
  }
  const int flags = descriptor >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
  void* data = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (data == MAP_FAILED) return false;
  data_ = {static_cast<std::byte*>(data),
           [length = bytes()](std::byte* address) { munmap(address, length); }};
  struct stat status {};
  if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  return true;
}

/// Retries, because another process that starts may remove the folder before it is locked.
SegmentFolder::SegmentFolder(const std::string& job)
    : path_(std::filesystem::path("/dev/shm") / file_name(job, segments_end)) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (mkdir(path_.c_str(), S_IRWXU) != 0 && errno != EEXIST) break;
    folder_ = open_segments(path_);
    struct stat status {};
    const bool locked = folder_.get() >= 0 && flock(folder_.get(), LOCK_SH) == 0;
    if (locked && fstat(folder_.get(), &status) == 0 && is_own_folder(status) && status.st_nlink > 0) return;
  }
  folder_ = {};
  path_.clear();
}

SegmentFolder::~SegmentFolder() {
  if (!path_.empty()) ::rmdir(path_.c_str());  // fails while it has segments of other ranks
}

std::string read_job(const std::function<const char*(const char*)>& lookup) {
  std::string job;
  for (const char* name : {"LOCKSTEP_JOB", "PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"}) {
    const char* value = lookup(name);
    if (value == nullptr || *value == '\0') continue;
    if (!job.empty()) job += '-';
    job += value;
  }
  return job;
}

}  // namespace lockstep
