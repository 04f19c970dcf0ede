#include "cli/doctor/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/options/flag.h"
#include "core/text/printable.h"
#include "lockstep/execution.h"

namespace lockstep {
namespace {

using State = Finding::State;

std::string transport_flag(Transport transport) {
  return fmt::format("{} {}", flag_of(&ExecutionOptions::transport), name_of(transport));
}

Finding describe_memory(const HostProbe& host) {
  if (!host.memory_bytes || !host.memory_free) return {"memory", "unknown"};
  return {.name = "memory",
          .value = fmt::format("{}, {} free", size_text(*host.memory_bytes), size_text(*host.memory_free)),
          .figures = {{"bytes", *host.memory_bytes}, {"free_bytes", *host.memory_free}}};
}

Finding describe_lock_limit(const HostProbe& host, const Launched& launched) {
  Finding finding{"lock limit", host.lock_limit ? size_text(*host.lock_limit) : "none"};
  if (host.lock_limit) finding.figures = {{"bytes", *host.lock_limit}};
  if (host.lock_limit && launched.hosts > 1) {
    finding.state = State::remark;
    finding.hint =
        "InfiniBand needs to lock memory: ulimit -l unlimited (limits.conf, docker run --ulimit memlock=-1)";
  }
  return finding;
}

Finding describe_shared_memory(const HostProbe& host, const Launched& launched) {
  if (!host.shared_bytes || !host.shared_free) {
    return {"/dev/shm", "not there", State::remark, "mount a tmpfs there: MPI and NCCL need it"};
  }
  Finding finding{"/dev/shm",
                  fmt::format("{}, {} free", size_text(*host.shared_bytes), size_text(*host.shared_free))};
  finding.figures = {{"bytes", *host.shared_bytes}, {"free_bytes", *host.shared_free}};
  if (*host.shared_free / static_cast<std::uint64_t>(launched.local_ranks) < nccl_shared_bytes) {
    finding.state = State::remark;
    finding.hint =
        "make it larger (docker run --shm-size=1g), or remove files that other programs left there";
  }
  return finding;
}

Finding describe_gpu(std::size_t number, const cuda::GpuProbe& gpu, const Launched& launched) {
  Finding finding{fmt::format("GPU {}", number),
                  fmt::format("{}, compute capability {}.{}, {} of memory", gpu.name, gpu.major, gpu.minor,
                              size_text(gpu.memory_bytes))};
  finding.figures = {{"bytes", gpu.memory_bytes}};
  if (gpu.free_bytes) {
    finding.value += fmt::format(", {} free", size_text(*gpu.free_bytes));
    finding.figures["free_bytes"] = *gpu.free_bytes;
  }
  if (!gpu.bus.empty()) finding.value += ", PCI " + gpu.bus;
  if (gpu.processes > 0) {
    finding.value += ", used by " + counted(gpu.processes, "process");
    finding.state = State::remark;
    finding.hint = "other processes use it: nvidia-smi lists them";
  }
  if (gpu.mode == cuda::ComputeMode::exclusive_process && launched.local_ranks > 1) {
    finding.value += ", for one process at a time";
    finding.state = State::remark;
    finding.hint = "several ranks on it need nvidia-smi -c 0";
  }
  return finding;
}

/// Links between GPUs, in one line if all are alike.
std::vector<Finding> describe_links(const cuda::Probe& probe) {
  const auto text = [&](const cuda::LinkProbe& link) {
    std::string path = link.path;
    const int nvlinks = probe.gpus[static_cast<std::size_t>(link.first)].nvlinks;
    if (path == "NVLink" && nvlinks > 0) path = fmt::format("NVLink ({} of each GPU)", nvlinks);
    return path + (link.direct ? "" : ", through the host's memory");
  };
  std::vector<Finding> findings;
  for (const cuda::LinkProbe& link : probe.links) {
    findings.push_back({fmt::format("link {}-{}", link.first, link.second), text(link)});
  }
  const auto differs = [&](const Finding& one) { return one.value != findings.front().value; };
  if (findings.size() > 1 && std::ranges::none_of(findings, differs)) {
    return {{"links", fmt::format("each pair of GPUs: {}", findings.front().value)}};
  }
  return findings;
}

Finding describe_driver(const cuda::Probe& probe) {
  if (probe.driver_supports == 0) return {"NVIDIA driver", "none"};
  return {"NVIDIA driver", fmt::format("{}, for CUDA up to {}", probe.driver.empty() ? "?" : probe.driver,
                                       cuda::cuda_version_text(probe.driver_supports))};
}

Finding describe_library(const char* name, const cuda::LibraryProbe& library) {
  if (!library.version.empty()) return {name, library.version};
  return {name, fmt::format("cannot be opened ({})", library.failure)};
}

std::optional<Finding> describe_missing_nccl(const cuda::Probe& probe, const Launched& launched) {
  if (launched.ranks == 1 || launched.through_host || !probe.nccl.version.empty()) return std::nullopt;
  return Finding{
      "GPU exchange", "several GPUs need NCCL", launched.wants_cuda ? State::missing : State::remark,
      "install NCCL 2, put its folder into LD_LIBRARY_PATH, or use " + transport_flag(Transport::messages)};
}

}  // namespace

std::string text_of(const Finding& finding) {
  std::string text = fmt::format("{:<14} {}\n", finding.name, finding.value);
  if (finding.state != State::well) {
    text +=
        fmt::format("{:<14} {}: {}\n", "", finding.state == State::missing ? "needed" : "hint", finding.hint);
  }
  return text;
}

std::vector<Finding> describe_host(const HostProbe& host, const Launched& launched) {
  return {describe_memory(host), describe_lock_limit(host, launched), describe_shared_memory(host, launched)};
}

std::optional<Finding> describe_sharing(const cuda::Probe& probe, const Launched& launched) {
  const auto gpus = static_cast<int>(launched.local_gpus.value_or(probe.gpus.size()));
  if (launched.local_ranks <= gpus) return std::nullopt;
  return Finding{"GPUs and ranks",
                 fmt::format("{} ranks share {}", launched.local_ranks, counted(gpus, "GPU")),
                 launched.wants_cuda && !launched.through_host ? State::missing : State::remark,
                 fmt::format("start {} on this host; {} {} {} lets more of them share, which is slow",
                             counted(gpus, "rank"), flag_of(&ExecutionOptions::device),
                             name_of(DeviceKind::cuda), transport_flag(Transport::shared_memory))};
}

std::vector<Finding> describe_cuda(const cuda::Probe& probe, const Launched& launched) {
  const cuda::Obstacle obstacle = cuda::obstacle(probe);
  std::vector<Finding> findings;
  if (!obstacle) {
    findings.push_back({.name = "CUDA",
                        .value = fmt::format("{}, {}", cuda::cuda_version_text(probe.built_for),
                                             counted(probe.gpus.size(), "GPU")),
                        .figures = {{"gpus", probe.gpus.size()}}});
  } else {
    findings.push_back({"CUDA", "off: " + obstacle.reason,
                        launched.wants_cuda ? State::missing : State::remark, obstacle.hint});
  }
  if (!probe.not_built.empty()) return findings;
  findings.push_back(describe_driver(probe));
  for (std::size_t i = 0; i < probe.gpus.size(); ++i) {
    findings.push_back(describe_gpu(i, probe.gpus[i], launched));
  }
  std::ranges::move(describe_links(probe), std::back_inserter(findings));
  findings.push_back(describe_library("cuDNN", probe.cudnn));
  findings.push_back(describe_library("NCCL", probe.nccl));
  if (obstacle) return findings;
  for (auto&& remark : {describe_sharing(probe, launched), describe_missing_nccl(probe, launched)}) {
    if (remark) findings.push_back(*remark);
  }
  return findings;
}

}  // namespace lockstep
