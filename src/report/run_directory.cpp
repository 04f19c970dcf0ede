#include "report/run_directory.h"

#include <fmt/format.h>

#include <system_error>

#include "core/files/atomic_file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw Error(Category::resource, fmt::format("{}: {}", file.string(), reason));
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail(path, error.message());
}

}  // namespace

RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment) {
  RunDirectory directory{path};
  std::error_code error;
  if (std::filesystem::exists(directory.metrics(), error)) {
    throw Error(
        Category::usage,
        fmt::format("{} already holds a run (metrics.jsonl); choose another directory or remove this one",
                    path.string()),
        "run-dir");
  }
  make_directory(directory.checkpoints());
  for (const auto& file : {directory.final_model(), directory.best(), directory.report()}) {
    const AtomicFile probe(file);  // fails now rather than at the end of the run
  }
  write_text_file(directory.options(), options);
  write_text_file(directory.environment(), environment);
  return directory;
}

}  // namespace lockstep
