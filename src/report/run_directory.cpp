#include "report/run_directory.h"

#include <fmt/format.h>

#include "core/files/atomic_file.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "lockstep/error.h"

namespace lockstep {

RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment) {
  RunDirectory directory{path};
  if (file_kind(directory.metrics()) != FileKind::missing) {
    throw Error(
        Category::usage,
        fmt::format("{} already holds a run (metrics.jsonl); choose another directory or remove this one",
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

}  // namespace lockstep
