#include "cli/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/model/find_checkpoints.h"
#include "cli/options/flag.h"
#include "core/files/file_system.h"
#include "data/sets/parts.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Adds the file, or the tables of the folder, that an option names.
void add_tables(const std::filesystem::path& place, const std::string& option,
                std::vector<SourceFile>& sources) {
  if (!is_folder(place)) {
    sources.push_back({place, "the file of " + option});
    return;
  }
  for (const Part part : {Part::train, Part::validation, Part::test}) {
    const std::filesystem::path table = find_part(place, part, ".csv");
    if (!table.empty()) sources.push_back({table, "a table of " + option});
  }
}

}  // namespace

void check_not_source(const std::filesystem::path& output, const std::vector<SourceFile>& sources,
                      const std::string& option) {
  if (output.empty()) return;
  for (const SourceFile& source : sources) {
    if (!is_same_file(output, source.path)) continue;
    throw Error(Category::usage, fmt::format("{} is {}: name another file", output.string(), source.name),
                option);
  }
}

std::vector<SourceFile> files_of(const RunFolder& run) {
  std::vector<SourceFile> sources;
  for (const auto& file :
       {run.options(), run.environment(), run.plans(), run.metrics(), run.final_model(), run.best()}) {
    sources.push_back({file, "a file of the run"});
  }
  return sources;
}

std::vector<SourceFile> files_of(const SavedModel& model) {
  std::vector<SourceFile> sources = {{model.place, "the model itself"}};
  if (const std::filesystem::path run = run_of(model.place); !run.empty()) {
    std::ranges::copy(files_of(RunFolder(run)), std::back_inserter(sources));
  }
  return sources;
}

std::vector<SourceFile> files_of(const DatasetOptions& options) {
  std::vector<SourceFile> sources;
  if (options.name == "csv" || !is_folder(options.directory))
    add_tables(options.directory, flag_of(&DatasetOptions::directory), sources);
  add_tables(options.labels, flag_of(&DatasetOptions::labels), sources);
  return sources;
}

}  // namespace lockstep
