#include "comm/transports/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "comm/world/runtime.h"
#include "core/files/file.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

/// PID and descriptor of the first rank's file, and the file's identity: in another container, the PID may
/// belong to a different process.
struct Place {
  std::int64_t process = -1;
  std::int64_t descriptor = -1;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

FileDescriptor create_file(std::size_t bytes) {
  FileDescriptor file(memfd_create("lockstep", MFD_CLOEXEC));
  if (file.get() >= 0 && ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return FileDescriptor(-1);
  return file;
}

Place place_of(const FileDescriptor& file) {
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return {};
  return {getpid(), file.get(), status.st_dev, status.st_ino};
}

FileDescriptor open_file(const Place& place) {
  if (place.process < 0) return FileDescriptor(-1);
  const std::string path =
      "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const Place found = place_of(file);
  if (found.device != place.device || found.inode != place.inode) return FileDescriptor(-1);
  return file;
}

std::byte* map(const FileDescriptor& file, std::size_t bytes) {
  if (file.get() < 0) return nullptr;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::create(const World& world, std::size_t bytes) {
  return create(world.runtime().host, bytes);
}

std::unique_ptr<SharedMemory> SharedMemory::create(const MpiGroup& host, std::size_t bytes) {
  const MPI_Comm ranks = host.get();
  const bool first = host.rank() == 0;
  FileDescriptor file = first ? create_file(bytes) : FileDescriptor(-1);
  Place place = place_of(file);
  check_mpi(MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, ranks), "MPI_Bcast");

  if (!first) file = open_file(place);
  std::byte* data = map(file, bytes);
  std::unique_ptr<SharedMemory> memory;
  if (data != nullptr) memory.reset(new SharedMemory(data, bytes));
  int mapped = data != nullptr ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &mapped, 1, MPI_INT, MPI_MIN, ranks), "MPI_Allreduce");
  if (mapped == 0) memory.reset();
  return memory;
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

}  // namespace lockstep
