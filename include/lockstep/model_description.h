#pragma once

#include <map>
#include <memory>
#include <string>

#include "lockstep/checkpoint.h"
#include "lockstep/field.h"
#include "lockstep/input.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/shape.h"
#include "lockstep/task.h"

namespace lockstep {

/// Description of a saved model, sufficient to use the model without its training options. Stored in the
/// metadata of model files (docs/checkpoints.md). Files of other programs and of earlier versions lack some
/// or all of it.
struct ModelDescription {
  std::string network = {};  ///< text of a network file; empty: unknown
  Shape shape = {};          ///< shape of a sample; no channels: unknown
  int outputs = 0;           ///< number of the network's outputs, one per class; 0: unknown
  Names classes = {};        ///< names of the outputs (classes, ...), in order; empty: outputs are numbered
  std::string task = "classification";
  TargetScale target_scale = {};             ///< regression: unit of the output
  InputOptions input = {.crop_share = 1.0};  ///< preparation of samples; `strict` is not stored
  /// Encoding of the columns of a table (JSON text); empty: samples are images.
  std::string table = {};
  Facts data = {};           ///< options of the data set, as texts
  Facts options = {};        ///< training options that affect the result, as texts
  Facts results = {};        ///< "epoch", "test_accuracy", ...; empty if the model was not evaluated
  std::string version = {};  ///< version of the program
  std::string digest = {};   ///< digest of the parameters in the file, as lockstep::digest returns it
};

/// Visits all metadata entries except `results`: each result is an entry under its own name.
template <OptionsOf<ModelDescription> D, class Visitor>
void visit(D& description, Visitor&& field) {
  auto& [network, shape, outputs, classes, task, target_scale, input, table, data, options, results, version,
         digest] = description;
  auto& [mean, deviation, crop_share, strict] = input;
  field(network, {.name = "network"});
  field(shape, {.name = "input_shape"});
  field(outputs, {.name = "outputs"});
  field(classes, {.name = "classes"});
  field(task, {.name = "task"});
  field(target_scale, {.name = "target_scale"});
  field(mean, {.name = "mean"});
  field(deviation, {.name = "std"});
  field(crop_share, {.name = "crop_pct"});
  field(table, {.name = "table"});
  field(data, {.name = "dataset"});
  field(options, {.name = "options"});
  field(version, {.name = "lockstep_version"});
  field(digest, {.name = "digest"});
}

/// Facts that the program adds to the files that a trainer writes: further options of the run, and options of
/// the data set, as texts.
struct RunFacts {
  Facts options = {};  ///< options that affect the result
  Facts data = {};
};

/// Metadata entries of a file: texts unchanged, everything else as JSON; unknown values have no entry.
std::map<std::string, std::string> metadata_of(const ModelDescription& description);
/// Description stored in a file's metadata; unknown entries are ignored. Throws Error(data) naming file and
/// entry if an entry cannot be read, or is impossible, such as a standard deviation of 0.
ModelDescription description_of(const ModelFile& file);
/// Same for the metadata `entries` of the file `origin`, which may have any format.
ModelDescription description_of(const std::map<std::string, std::string>& entries, const std::string& origin);

/// Builds the network of a description. Throws Error(data) naming `origin`, the file, if the description has
/// no network or a wrong one.
std::unique_ptr<Network> make_network(const ModelDescription& description, const std::string& origin);

}  // namespace lockstep
