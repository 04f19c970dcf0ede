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

/// Description of a saved model: enough to use it without the options of its training. Stored in the metadata
/// of model files (docs/checkpoints.md). Files of other programs and of earlier versions lack some or all of
/// it.
struct ModelDescription {
  std::string network = {};  ///< text of a network file; empty: unknown
  Shape shape = {};          ///< of a sample; no channels: unknown
  int outputs = 0;           ///< of the network: one per class; 0: unknown
  Names classes = {};  ///< names of the outputs, in order: of the classes, ...; empty: they are numbered
  std::string task = "classification";
  TargetScale target_scale = {};             ///< regression: unit of the output
  InputOptions input = {.crop_share = 1.0};  ///< preparation of samples; `strict` is not stored
  /// Encoding of the columns of a table (JSON text); empty: samples are images.
  std::string table = {};
  Facts data = {};           ///< options of the data set, as texts
  Facts options = {};        ///< options of the training that affect the result, as texts
  Facts results = {};        ///< "epoch", "test_accuracy" and the like, if the model was evaluated
  std::string version = {};  ///< of the program
  std::string digest = {};   ///< of the parameters in the file, as lockstep::digest returns it
};

/// Describes the entries of the metadata. All but `results` have a name of their own.
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

/// Facts that a trainer does not know, for the files that it writes: its further options, and those of the
/// data set, as texts.
struct RunFacts {
  Facts options = {};  ///< that affect the result
  Facts data = {};
};

/// Entries of a file's metadata: texts as they are, everything else as JSON; nothing for values that are
/// unknown.
std::map<std::string, std::string> metadata_of(const ModelDescription& description);
/// Description in the metadata of a file, without unknown entries. Throws Error(data) naming file and entry
/// for an entry that cannot be read, or that no model has, such as a standard deviation of 0.
ModelDescription description_of(const ModelFile& file);
/// Same for the entries of the metadata of the file `origin`, of any format.
ModelDescription description_of(const std::map<std::string, std::string>& entries, const std::string& origin);

/// Builds the network of a description. Throws Error(data) naming `origin`, the file, if the description has
/// none, or a mistake.
std::unique_ptr<Network> make_network(const ModelDescription& description, const std::string& origin);

}  // namespace lockstep
