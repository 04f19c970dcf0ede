#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

/// File that a command reads, and the words for it in messages: "the model itself".
struct SourceFile {
  std::filesystem::path path;
  std::string name;
};

/// Throws Error(usage), about `option` unless that is empty, if `output`, a file to be written, is one of
/// `sources`, even under another path.
void check_not_source(const std::filesystem::path& output, const std::vector<SourceFile>& sources,
                      const std::string& option = {});

/// Kind of a file that a command writes: a model (safetensors), an ONNX model, the page of a report, the CSV
/// file of a report, or the CSV file of eval --predictions.
enum class OutputKind { model, onnx, page, record, predictions };

/// Throws Error(usage), about `option` unless that is empty, if `output`, a file to be written, is one of
/// `sources`, is a file that runs write, or exists and is neither empty nor of this kind. In the run
/// directory `own`, the page (OutputKind::page) or the final model (other kinds) may be written. Also throws
/// as file_kind and read_text do.
void check_output(const std::filesystem::path& output, OutputKind kind,
                  const std::vector<SourceFile>& sources, const std::string& option = {},
                  const std::filesystem::path& own = {});

/// Files that the options name, and tables in folders that the options name. Throws as find_part does.
std::vector<SourceFile> files_of(const DatasetOptions& options);

}  // namespace lockstep
