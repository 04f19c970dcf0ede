#include "cli/source_files.h"

#include <fmt/format.h>

#include <span>

#include "cli/model/sample_predictions.h"
#include "cli/options/flag.h"
#include "core/files/content.h"
#include "core/files/file.h"
#include "core/files/file_system.h"
#include "data/sets/parts.h"
#include "lockstep/error.h"
#include "lockstep/model_file.h"
#include "run/run_folder.h"

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

/// Whether `file` is one that runs write to the run directory in which it lies. A folder is a run directory
/// if it is `own` or holds a run. In `own`, the page (OutputKind::page) or the final model (other kinds) does
/// not count.
bool is_of_run(const std::filesystem::path& file, OutputKind kind, const std::filesystem::path& own) {
  constexpr int levels = 3;  // RUN/checkpoints/NAME/model.safetensors
  const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
  std::filesystem::path folder = path;
  for (int level = 0; level < levels; ++level) {
    folder = folder.parent_path();
    const RunFolder run(folder);
    FileStatus status;
    const auto has = [&](const auto& name) { return files().stat(name, status) == 0; };
    const bool is_own = is_same_file(folder, own);
    if (!is_own && !has(run.metrics()) && !has(run.environment())) continue;
    if (run.knows(path))
      return !is_own || path != (kind == OutputKind::page ? run.report() : run.final_model());
  }
  return false;
}

bool holds_model(const std::filesystem::path& file) {
  try {
    ModelFile::read(file);
    return true;
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    return false;
  }
}

/// Name of a kind of file, and whether a file is of that kind.
struct KindCheck {
  const char* words;
  bool is_of;
};

/// Checks `file`, which begins with `begin`. A CSV file is recognised by its header, as a table of a user's
/// data must not be overwritten.
KindCheck check_content(OutputKind kind, const std::filesystem::path& file, const std::string& begin) {
  switch (kind) {
    case OutputKind::model:
      return {"a model file (safetensors)", holds_model(file)};
    case OutputKind::onnx:
      return {"an ONNX model", content_kind(std::as_bytes(std::span(begin))) == "an ONNX model"};
    case OutputKind::page:
      return {"the page of a report", begin.starts_with("<!DOCTYPE html>")};
    case OutputKind::record:  // headers of epochs and of steps
      return {"the CSV file of a report", begin.starts_with("epoch,train_loss,") ||
                                              begin.starts_with("epoch,task,train_loss,") ||
                                              begin.starts_with("epoch,step,samples,loss,")};
    case OutputKind::predictions:
      return {"a CSV file of predictions", are_predictions(begin)};
  }
  return {"", false};
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

void check_output(const std::filesystem::path& output, OutputKind kind,
                  const std::vector<SourceFile>& sources, const std::string& option,
                  const std::filesystem::path& own) {
  check_not_source(output, sources, option);
  if (output.empty()) return;
  if (is_of_run(output, kind, own)) {
    throw Error(Category::usage, fmt::format("{} is a file of the run: name another file", output.string()),
                option);
  }
  if (file_kind(output) != FileKind::file) return;
  constexpr std::size_t enough = 1024;  // for content_kind
  const std::string begin = read_text(output, enough);
  if (begin.find_first_not_of(" \r\n\t") == std::string::npos) return;
  const KindCheck check = check_content(kind, output, begin);
  if (check.is_of) return;
  throw Error(
      Category::usage,
      fmt::format("{} exists and is not {}: name another file, or remove it", output.string(), check.words),
      option);
}

std::vector<SourceFile> files_of(const DatasetOptions& options) {
  std::vector<SourceFile> sources;
  if (options.name == "csv" || !is_folder(options.directory))
    add_tables(options.directory, flag_of(&DatasetOptions::directory), sources);
  add_tables(options.labels, flag_of(&DatasetOptions::labels), sources);
  return sources;
}

}  // namespace lockstep
