#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "cli/commands.h"
#include "cli/doctor/findings.h"
#include "cli/doctor/self_test.h"
#include "cli/options/flag.h"
#include "cli/results.h"
#include "comm/communicator.h"
#include "comm/world/gather.h"
#include "core/json/members.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "device/cpu/cpu_device.h"
#include "device/host_probe.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "ops/cpu/level.h"

namespace lockstep {
namespace {

using State = Finding::State;

struct DoctorOptions {
  DatasetOptions data{};
  ExecutionOptions execution{};
  bool self_test = true;
  ResultOptions results{};
};

template <OptionsOf<DoctorOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [data, execution, self_test, results] = options;
  visit(data, field);
  field(self_test, {.name = "self-test",
                    .help = "skip the self-test, which trains for a few steps on synthetic images, on all "
                            "ranks and on one, and compares the digests",
                    .group = "Checks",
                    .scope = Scope::protocol});
  visit(results, field);
  visit(execution, field);
}

OptionSet option_set(DoctorOptions& options) {
  OptionSet set("lockstep doctor [options]",
                "Checks everything that a run needs: ranks and hosts as the launcher started them, cores, "
                "instruction sets, GPUs and their libraries, limits, the exchange of data between ranks, the "
                "data set. Then trains for about a second and compares the digests. Start it in the same way "
                "as training. The exit status is 4 if something that the options ask for is missing.");
  set.add(options);
  set.config_file();
  set.epilogue(
      "Examples:\n  lockstep-run -np 2 doctor\n  lockstep-run -np 2 doctor --device cuda\n"
      "  lockstep doctor --self-test=false\n");
  return set;
}

struct Diagnosis {
  std::vector<Finding> findings;
  int hints = 0;
  int missing = 0;
};
LOCKSTEP_MEMBERS(Diagnosis, findings, hints, missing)

/// Prints findings on rank 0 as they are added, and collects them.
class Findings {
 public:
  Findings(const World& world, const ResultOptions& options)
      : collects_(world.rank() == 0), printer_(options, collects_) {}

  void add(const Finding& finding) {
    if (!collects_) return;
    printer_.text(text_of(finding));
    all_.findings.push_back(finding);
    if (finding.state == State::remark) ++all_.hints;
    if (finding.state == State::missing) {
      ++all_.missing;
      missing_ += fmt::format("{}{}: {}", missing_.empty() ? "" : "; ", finding.name, finding.value);
    }
  }
  void add_all(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) add(finding);
  }
  /// Adds the result. Throws Error(resource) on all ranks if something is missing.
  void finish(World& world) {
    if (missing_.empty()) {
      add({"result",
           all_.hints == 0 ? "all is well" : "all is well; " + counted(all_.hints, "hint") + " above"});
    }
    printer_.finish(all_);
    world.agree([&] {
      if (!missing_.empty()) throw Error(Category::resource, missing_);
    });
  }

 private:
  bool collects_;
  ResultPrinter printer_;
  Diagnosis all_;
  std::string missing_;  ///< missing findings as one line
};

std::string simd_levels() {
  std::string names;
  for (const cpu::Level level : cpu::available_levels()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", cpu::level_name(level));
  }
  return fmt::format("{} (uses {})", names, cpu::level_name(cpu::best_level()));
}

Finding describe_ranks(const World& world) {
  const auto& bounds = world.host_boundaries();
  std::string text = fmt::format("{} on {}", world.size(), counted(world.hosts(), "host"));
  if (world.hosts() > 1) {
    for (std::size_t h = 0; h + 1 < bounds.size(); ++h) {
      text += fmt::format("{}{}", h == 0 ? ": " : " + ", bounds[h + 1] - bounds[h]);
    }
  }
  return {.name = "ranks",
          .value = text,
          .figures = {{"ranks", static_cast<std::uint64_t>(world.size())},
                      {"hosts", static_cast<std::uint64_t>(world.hosts())}}};
}

Finding describe_cores(const World& world) {
  const int cores = available_cores(world.local_rank(), world.local_size());
  Finding finding{.name = "cores",
                  .value = fmt::format("{} for each rank of {}", cores, world.host()),
                  .figures = {{"cores_per_rank", static_cast<std::uint64_t>(cores)}}};
  long all = sysconf(_SC_NPROCESSORS_ONLN);
  if (const std::optional<int> limit = cpu_limit(); limit && *limit < all) {
    finding.value += fmt::format("; CPU limit of the container: {} of {}", *limit, all);
    all = *limit;
  }
  if (world.local_size() > all) {
    finding.state = State::remark;
    finding.hint = "there are more ranks than cores: fewer ranks are faster, and give the same bits";
  }
  return finding;
}

/// For each host, why one of its ranks cannot compute with CUDA; empty: all its ranks can.
std::vector<std::string> reasons_of_hosts(const World& world, const std::string& own_reason) {
  FixedText<256> own;
  if (!own_reason.empty()) own = fmt::format("{}: {}", world.host(), own_reason);
  std::vector<std::string> reasons(static_cast<std::size_t>(world.hosts()));
  const std::vector<int>& bounds = world.host_boundaries();
  int rank = 0;
  for (const auto& reason : gather(world, std::span(&own, 1))) {
    const auto host = std::ranges::upper_bound(bounds, rank++) - bounds.begin() - 1;
    if (!reason.empty()) reasons[static_cast<std::size_t>(host)] = reason.text();
  }
  return reasons;
}

/// Counts this host's ranks that use a GPU, and their distinct GPUs. Ranks use the GPUs that they see in
/// turn; a launcher may show each rank a different GPU.
void count_local_gpus(const World& world, const cuda::Probe& probe, Launched& launched) {
  FixedText<64> own;  // PCI address
  if (!probe.gpus.empty()) {
    own = probe.gpus[static_cast<std::size_t>(world.local_rank()) % probe.gpus.size()].bus;
  }
  const auto all = gather(world, std::span(&own, 1));
  const auto first = static_cast<std::size_t>(world.rank() - world.local_rank());
  std::set<std::string> different;
  launched.local_ranks = 0;
  for (const auto& gpu : std::span(all).subspan(first, static_cast<std::size_t>(world.local_size()))) {
    if (gpu.empty()) continue;
    ++launched.local_ranks;
    different.insert(gpu.text());
  }
  launched.local_gpus = different.size();
}

/// Adds the findings about CUDA. `devices`: device of each rank; not all are CPUs. Returns whether all ranks
/// except those on DeviceKind::cpu can compute with CUDA; the same on all ranks.
bool examine_cuda(const World& world, Launched launched, const std::vector<DeviceKind>& devices,
                  Findings& findings) {
  const bool on_cpu = devices[static_cast<std::size_t>(world.rank())] == DeviceKind::cpu;
  const cuda::Probe probe = on_cpu ? cuda::Probe() : cuda::probe(cuda::Detail::all);
  // If some ranks compute on CPUs, GPUs exchange through host memory, and no rank needs NCCL.
  if (std::ranges::count(devices, DeviceKind::cpu) > 0) launched.ranks = 1;
  count_local_gpus(world, probe, launched);
  std::string reason;
  if (!on_cpu) {
    findings.add_all(describe_cuda(probe, launched));
    reason = cuda::obstacle(probe).reason;
    if (reason.empty()) {
      const std::optional<Finding> sharing = describe_sharing(probe, launched);
      if (sharing && !launched.through_host) reason = sharing->value;
    }
  }
  const std::vector<std::string> reasons = reasons_of_hosts(world, reason);
  const State state = std::ranges::count(devices, DeviceKind::cuda) > 0 ? State::missing : State::remark;
  // Rank 0's reason was added above.
  for (std::size_t host = reason.empty() ? 0 : 1; host < reasons.size(); ++host) {
    if (reasons[host].empty()) continue;
    findings.add({"CUDA", "not on " + reasons[host], state, "start lockstep doctor on that host"});
  }
  return std::ranges::all_of(reasons, &std::string::empty);
}

Finding describe_data(const World& world, const DoctorOptions& options) {
  try {
    const DatasetPair data = open_dataset(world, options.data);
    Finding finding{
        .name = "data set",
        .value = fmt::format("{}: {} training", options.data.name, data.train->size()),
        .figures = {{"training_samples", data.train->size()}, {"test_samples", data.test->size()}}};
    if (data.validation) {
      finding.value += fmt::format(", {} validation", data.validation->size());
      finding.figures["validation_samples"] = data.validation->size();
    }
    finding.value += fmt::format(" and {} test samples", data.test->size());
    return finding;
  } catch (const Error& error) {  // the same on all ranks
    return {"data set", error.what(), State::missing,
            fmt::format("see docs/data.md; {} synthetic needs no files", flag_of(&DatasetOptions::name))};
  }
}

/// Adds the findings about ranks, processors and memory.
void examine_hosts(const World& world, const Launched& launched, Findings& findings) {
  findings.add({"lockstep", version()});
  findings.add(describe_ranks(world));
  const std::string library = world.library();
  findings.add({"MPI", library.substr(0, library.find(','))});
  findings.add(describe_cores(world));
  findings.add({"instructions", simd_levels()});
  findings.add_all(describe_host(probe_host(), launched));
}

int examine(World& world, const DoctorOptions& options) {
  const DeviceKind device = options.execution.device;
  // Devices may differ between ranks with --rank-weights.
  const std::vector<DeviceKind> devices = gather(world, std::span(&device, 1));
  const auto are_on = [&](DeviceKind kind) { return std::ranges::count(devices, kind); };
  const Launched launched{.ranks = world.size(),
                          .local_ranks = world.local_size(),
                          .hosts = world.hosts(),
                          .wants_cuda = device == DeviceKind::cuda,
                          .through_host = options.execution.transport != Transport::automatic};
  Findings findings(world, options.results);
  examine_hosts(world, launched, findings);
  findings.add({"exchange", make_communicator(world, options.execution.transport)->name()});
  const bool cuda =
      are_on(DeviceKind::cpu) < world.size() && examine_cuda(world, launched, devices, findings);
  findings.add(describe_data(world, options));
  if (are_on(DeviceKind::cuda) > 0 && !cuda) {
    findings.add({"self-test", "skipped: the GPUs cannot be used, see above"});
  } else if (options.self_test) {
    ExecutionOptions execution = options.execution;
    execution.device = cuda && device != DeviceKind::cpu ? DeviceKind::cuda : DeviceKind::cpu;
    findings.add(run_self_test(world, execution));
  }
  findings.finish(world);
  return 0;
}

}  // namespace

constinit const Command doctor_command = command_of_ranks<DoctorOptions, option_set, examine>(
    "doctor", "check this machine and how ranks are started");

}  // namespace lockstep
