#include "run/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "core/json/json.h"
#include "device/host_probe.h"

namespace lockstep {
namespace {

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

std::string kernel_name() {
  utsname name{};
  if (uname(&name) != 0) return {};
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

}  // namespace

Environment this_environment() {
  Environment environment;
  environment.compiler = compiler_name();
  environment.cpu = cpu_model();
  environment.cores = available_processors();
  environment.memory_bytes = physical_memory();
  environment.kernel = kernel_name();
  environment.started = now_utc();
  return environment;
}

std::string environment_json(const Environment& environment) {
  JsonValue json = json_of(environment);
  json.erase("more");
  for (const auto& [name, value] : environment.more) json[name] = value;
  // Arguments may hold any bytes; bytes that are not UTF-8 are replaced.
  return json_text(json, 2) + "\n";
}

}  // namespace lockstep
