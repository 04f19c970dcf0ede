#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "comm/communicator.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/dataset.h"
#include "lockstep/world.h"
#include "ops/cpu/op.h"

namespace lockstep {
namespace {

OptionSet declare(std::string& dataset, DatasetOptions& data) {
  OptionSet set("lockstep doctor [options]",
                "Checks what a run needs: the ranks and hosts that the launcher started, cores, instruction "
                "sets, how ranks exchange data, the data set. Start it as you would start training.");
  set.group("Data");
  declare_data(set, dataset, data);
  set.config_file();
  set.pass_over(train_option_names());
  set.epilogue("Example:\n  mpirun -np 2 lockstep doctor\n");
  return set;
}

void line(const char* name, const std::string& value) { print(fmt::format("{:<14} {}\n", name, value)); }

std::string simd_levels() {
  std::string names;
  for (const cpu::Level level : cpu::available_levels()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", cpu::level_name(level));
  }
  return fmt::format("{} (uses {})", names, cpu::level_name(cpu::best_level()));
}

std::string ranks(const World& world) {
  const auto& bounds = world.host_boundaries();
  std::string text =
      fmt::format("{} on {} host{}", world.size(), world.hosts(), world.hosts() == 1 ? "" : "s");
  if (world.hosts() > 1) {
    for (std::size_t h = 0; h + 1 < bounds.size(); ++h) {
      text += fmt::format("{}{}", h == 0 ? ": " : " + ", bounds[h + 1] - bounds[h]);
    }
  }
  return text;
}

int examine(World& world, const std::string& dataset, const DatasetOptions& data_options) {
  const bool prints = world.rank() == 0;
  if (prints) {
    line("lockstep", LOCKSTEP_VERSION);
    line("ranks", ranks(world));
    line("cores", fmt::format("{} for each rank of {}",
                              available_cores(world.local_rank(), world.local_size()), world.host()));
    line("instructions", simd_levels());
    line("cuda", "not in this build");
  }
  const auto communicator = make_communicator(world, Transport::automatic);
  if (prints) {
    line("exchange", communicator->name());
  }
  const DatasetPair data = open_dataset(world, dataset, data_options);
  if (prints) {
    line("data set",
         fmt::format("{}: {} training and {} test samples", dataset, data.train->size(), data.test->size()));
  }
  communicator->barrier();
  if (prints) {
    line("result", "all is well");
  }
  return 0;
}

}  // namespace

int run_doctor(int argc, char** argv) {
  std::string dataset = "fashion-mnist";
  DatasetOptions data;
  OptionSet set = declare(dataset, data);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  return run_program(argc, argv, [&](World& world) {
    world.agree([&] { set.parse(argc, argv, environ); });
    return examine(world, dataset, data);
  });
}

}  // namespace lockstep
