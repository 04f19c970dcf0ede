#include "comm/world/start_checks.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "device/host_probe.h"

namespace lockstep {

std::string avoid_shared_memory(const Launch& launch, std::optional<std::uint64_t> shared_free, int process) {
  constexpr std::uint64_t megabyte = std::uint64_t{1} << 20;
  constexpr std::uint64_t segment = 4 * megabyte;  // btl_vader_segment_size of Open MPI 4.1
  const int ranks = launch.local_count == 0 && launch.one_host ? launch.processes : launch.local_count;
  const std::uint64_t needed = segment * static_cast<std::uint64_t>(ranks);
  const bool too_small = ranks > 1 && shared_free.value_or(needed) < needed;
  const bool alone = launch.known && process == 1;
  if (!(too_small || alone) || std::getenv("OMPI_MCA_btl") != nullptr) return {};
  setenv("OMPI_MCA_btl", "^vader,sm", 1);  // Open MPI 5 calls it sm
  if (!too_small) return {};
  return fmt::format(
      "/dev/shm has {} MiB free, but MPI needs {} MiB there for {} ranks: its messages go through TCP, which "
      "is slower; in a container, make /dev/shm larger with --shm-size=1g",
      *shared_free / megabyte, needed / megabyte, ranks);
}

/// The address is given by PMIx as "NAMESPACE.RANK;tcp4://127.0.0.1:PORT".
std::string why_unreachable(const std::function<const char*(const char*)>& lookup,
                            const std::filesystem::path& root) {
  constexpr std::string_view loopback = ";tcp4://127.0.0.1:";
  const char* value = lookup("PMIX_SERVER_URI4");
  if (value == nullptr) value = lookup("PMIX_SERVER_URI2");
  const std::string address = value != nullptr ? value : "";
  const std::size_t at = address.find(loopback);
  if (at == std::string::npos) return {};
  const int port = std::atoi(address.c_str() + at + loopback.size());
  if (listens_on_loopback(static_cast<std::uint16_t>(port), root).value_or(true)) return {};
  return fmt::format(
      "the process that started this rank (PMIx server 127.0.0.1:{}) cannot be reached: a container that "
      "mpirun or srun starts needs the network of the host, --network=host",
      port);
}

}  // namespace lockstep
