#include "run/run_record.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace lockstep::launcher {
namespace {

/// End of metrics.jsonl that is searched: hundreds of lines.
constexpr std::streamoff searched_bytes = 1 << 16;

/// Step that a decimal number means; 0: `text` is none.
std::uint64_t step_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

/// The last bytes of a file; empty if it cannot be read.
std::string tail(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  std::string text(static_cast<std::size_t>(std::min(size, searched_bytes)), '\0');
  file.seekg(size - static_cast<std::streamoff>(text.size()));
  return file.read(text.data(), static_cast<std::streamsize>(text.size())) ? text : std::string();
}

/// Text of a number in a line of JSON without spaces; empty: it has none of that name.
std::string_view value_in(std::string_view line, const std::string& name) {
  const std::string key = '"' + name + "\":";
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(",}"));
}

}  // namespace

std::uint64_t newest_checkpoint(const std::filesystem::path& run_directory) {
  constexpr std::string_view prefix = "step-";
  std::uint64_t newest = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(run_directory / "checkpoints", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = std::string_view(name).substr(prefix.size());
    const bool replaced = rest.ends_with(".old");  // by one of the same step, which may not be there yet
    const std::uint64_t step = step_in(replaced ? rest.substr(0, rest.find('.')) : rest);
    std::error_code missing;
    if (step > newest && std::filesystem::exists(entry->path() / "MANIFEST", missing)) newest = step;
  }
  return newest;
}

RecordedSteps recorded_steps(const std::filesystem::path& run_directory, std::uint64_t from) {
  RecordedSteps result;
  std::istringstream lines(tail(run_directory / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const std::uint64_t step = step_in(value_in(line, "step"));
    if (step == 0) continue;
    result.last = step;
    if (step > from) result.seconds += std::strtod(std::string(value_in(line, "seconds")).c_str(), nullptr);
  }
  return result;
}

}  // namespace lockstep::launcher
