#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "cli/preflight/preflight.h"
#include "comm/world/mpi_handles.h"
#include "core/files/file_system.h"
#include "core/process/process.h"
#include "core/process/processors.h"
#include "core/version.h"
#include "device/cuda_probe.h"
#include "device/host_probe.h"

namespace lockstep {
namespace {

/// Whether the daemon that mpirun starts on other hosts lies beside it, or there is mpirun itself.
bool has_daemon(const std::filesystem::path& mpirun) {
  for (const char* const daemon : {"orted", "prted"}) {
    if (file_kind(mpirun.parent_path() / daemon) == FileKind::file) return true;
  }
  return false;
}

std::uint64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

HostFacts this_host(const HostRequest& request) {
  HostFacts facts;
  facts.version = version();
  facts.revision = revision();
  facts.mpi = mpi_library();
  facts.name = host_name();
  if (chdir(request.directory.c_str()) != 0) facts.directory_error = std::strerror(errno);
  facts.has_mpirun = has_daemon(request.mpirun);
  facts.processors = available_processors();
  facts.nodes = usable_nodes();
  facts.interfaces = own_interfaces();
  facts.identity = facts.name + " " + std::to_string(own_network());
  const HostProbe host = probe_host();
  facts.memory_bytes = host.memory_bytes.value_or(0);
  facts.memory_free = host.memory_free.value_or(0);
  facts.shared_free = host.shared_free.value_or(0);
  files().free_space(".", facts.disk_free);  // stays 0 if it is not known
  const cuda::Probe found = cuda::probe(cuda::Detail::needed);
  facts.why_no_gpu = cuda::obstacle(found).reason;
  if (facts.why_no_gpu.empty()) facts.gpus = static_cast<int>(found.gpus.size());
  facts.clock = milliseconds_since_1970();
  return facts;
}

}  // namespace lockstep
