#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/model/saved_model.h"
#include "lockstep/dataset.h"
#include "run/run_folder.h"

namespace lockstep {

/// File that a command reads, and the words for it in messages: "the model itself".
struct SourceFile {
  std::filesystem::path path;
  std::string name;
};

/// Throws Error(usage), about `option` unless that is empty, if `output`, a file that is to be written, is
/// one of these files, by whatever path they are named.
void check_not_source(const std::filesystem::path& output, const std::vector<SourceFile>& sources,
                      const std::string& option = {});

/// Files of which a run has one, without report.html, which can be written again.
std::vector<SourceFile> files_of(const RunFolder& run);
/// The model's file and, if the model belongs to a run, the files of that run.
std::vector<SourceFile> files_of(const SavedModel& model);
/// Files that the options name, and tables in folders that they name. Throws as find_part.
std::vector<SourceFile> files_of(const DatasetOptions& options);

}  // namespace lockstep
