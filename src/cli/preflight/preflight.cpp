#include "cli/preflight/preflight.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "cli/train/train_options.h"
#include "comm/world/mpi_handles.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/hash.h"
#include "core/json/json.h"
#include "core/process/process.h"
#include "core/process/processors.h"
#include "core/version.h"
#include "device/cuda_probe.h"
#include "device/host_probe.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

/// Whether the daemon that mpirun starts on other hosts is in the folder of `mpirun`.
bool has_daemon(const std::filesystem::path& mpirun) {
  for (const char* const daemon : {"orted", "prted"}) {
    if (file_kind(mpirun.parent_path() / daemon) == FileKind::file) return true;
  }
  return false;
}

/// Facts about this host. Changes the working directory to `request.directory` if there is such a folder.
/// Never throws.
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
  facts.memory_free = host.memory_free.value_or(0);
  facts.shared_free = host.shared_free.value_or(0);
  files().free_space(".", facts.disk_free);  // stays 0 if unknown
  const cuda::Probe found = cuda::probe(cuda::Detail::needed);
  if (!cuda::obstacle(found)) facts.gpus = static_cast<int>(found.gpus.size());
  facts.clock = static_cast<std::uint64_t>(clock_nanoseconds(CLOCK_REALTIME) / 1'000'000);
  return facts;
}

template <class Facts>
void answer(const char* word, const Facts& facts) {
  print(word + json_message(json_of(facts)) + "\n");
  flush_output();
}

/// Hash of the fingerprints of a data set's parts.
std::string fingerprint_of(const DatasetPair& data) {
  Digest hash;
  for (const Dataset* const part : {data.train.get(), data.test.get(), data.validation.get()}) {
    const std::string text = part == nullptr ? "none" : part->fingerprint();
    hash.update(std::as_bytes(std::span(text)));
  }
  return hash.hex();
}

/// Opens the data of `lockstep train` with the options in `command`; command[0] is the name of the command.
DataFacts open_data_of(std::span<char* const> command) {
  DataFacts facts;
  try {
    TrainOptions options;
    OptionSet set = train_option_set(options);
    auto argc = static_cast<int>(command.size());
    auto* argv = const_cast<char**>(command.data());
    set.parse(argc, argv, environ);
    facts.name = options.data.name;
    const World world(&argc, &argv);
    facts.fingerprint = set.explain([&] { return fingerprint_of(open_dataset(world, options.data)); });
  } catch (const Error& error) {
    facts.error = error.what();
    facts.status = error.exit_status();
  }
  return facts;
}

}  // namespace

int run_preflight(std::span<char* const> words) {
  if (words.empty()) throw Error(Category::usage, std::string(preflight_flag) + " needs a request");
  HostRequest request;
  const JsonDocument document(words[0],
                              {.file = preflight_flag, .category = Category::usage, .is_message = true});
  document.read(document.root(), request);
  answer(host_facts_word, this_host(request));
  const auto command = words.subspan(1);
  if (request.data && !command.empty() && std::string_view(command[0]) == "train") {
    answer(data_facts_word, open_data_of(command));
  }
  return 0;
}

}  // namespace lockstep
