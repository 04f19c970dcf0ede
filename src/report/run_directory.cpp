#include "report/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw Error(Category::resource, fmt::format("{}: {}", file.string(), reason));
}

constexpr std::string_view not_finite_prefix = "not-finite-step-";

enum class LineKind { earlier, later, damaged };

/// Whether a line of metrics.jsonl is about what a run did until `step` and `epoch`, or later.
LineKind kind_of(const std::string& line, std::uint64_t step, int epoch) {
  try {
    const nlohmann::json json = nlohmann::json::parse(line);
    const auto event = json.at("event").get<std::string>();
    const bool earlier = event == "epoch" ? json.at("epoch").get<int>() <= epoch
                                          : event != "end" && json.value("step", std::uint64_t{0}) <= step;
    return earlier ? LineKind::earlier : LineKind::later;
  } catch (const nlohmann::json::exception&) {
    return LineKind::damaged;
  }
}

/// Largest N of the entries NAME-N of `parent`; 0: there is none.
int largest_number(const std::filesystem::path& parent, const std::string& name) {
  int largest = 0;
  for (const std::string& entry : list_folder(parent)) {
    int number = 0;
    const char* end = entry.data() + entry.size();
    if (!entry.starts_with(name + "-")) continue;
    const auto [rest, error] = std::from_chars(entry.data() + name.size() + 1, end, number);
    if (error == std::errc() && rest == end) largest = std::max(largest, number);
  }
  return largest;
}

}  // namespace

std::filesystem::path RunDirectory::not_finite(std::uint64_t step) const {
  return path / fmt::format("{}{:08}.json", not_finite_prefix, step);
}

std::size_t RunDirectory::not_finite_files() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      list_folder(path), [](const std::string& name) { return name.starts_with(not_finite_prefix); }));
}

std::filesystem::path new_run_folder(const std::filesystem::path& parent, const std::string& name) {
  make_folder(parent);
  for (int number = largest_number(parent, name) + 1;; ++number) {
    std::filesystem::path folder = parent / fmt::format("{}-{}", name, number);
    if (files().mkdir(folder) == 0) {
      sync_folder(parent);  // else a crash of the machine would take the checkpoints with it
      return folder;
    }
    if (errno != EEXIST) fail(folder, std::generic_category().message(errno));  // another run may be faster
  }
}

std::filesystem::path latest_run_folder(const std::filesystem::path& parent, const std::string& name) {
  if (file_kind(parent) != FileKind::folder) return {};
  const int largest = largest_number(parent, name);
  return largest == 0 ? std::filesystem::path() : parent / fmt::format("{}-{}", name, largest);
}

RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment, bool continues) {
  RunDirectory directory{path};
  if (!continues && file_kind(directory.metrics()) != FileKind::missing) {
    throw Error(Category::usage,
                fmt::format("{0} already holds a run (metrics.jsonl); continue it with resume {0}, or choose "
                            "another directory",
                            path.string()),
                "run-dir");
  }
  make_folder(directory.checkpoints());
  for (const auto& file : {directory.final_model(), directory.best(), directory.report()}) {
    const AtomicFile probe(file);  // fails now rather than at the end of the run
  }
  write_text_file(directory.options(), options);
  write_text_file(directory.environment(), environment);
  return directory;
}

std::size_t cut_metrics(const RunDirectory& directory, std::uint64_t step, int epoch) {
  const std::filesystem::path file = directory.metrics();
  if (file_kind(file) == FileKind::missing) return 0;
  const std::vector<std::byte> bytes = read_file(file);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string kept;
  std::size_t damaged = 0, damaged_at_end = 0;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    const std::string line(text.substr(begin, end - begin));
    const LineKind kind = kind_of(line, step, epoch);
    if (kind == LineKind::later) break;
    if (kind == LineKind::damaged) {
      ++damaged_at_end;  // perhaps of later steps
      continue;
    }
    damaged += std::exchange(damaged_at_end, 0);
    kept += line + '\n';
  }
  if (kept.size() < text.size()) write_text_file(file, kept);
  return damaged;
}

}  // namespace lockstep
