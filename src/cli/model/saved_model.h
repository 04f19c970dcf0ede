#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/option_set.h"
#include "data/sets/whole.h"
#include "lockstep/dataset.h"
#include "lockstep/model_description.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"

namespace lockstep {

/// Value of a fact; empty: there is none.
std::string fact(const Facts& facts, const std::string& name);

/// Whether two networks have parameters of the same names and shapes.
bool same_parameters(const Network& a, const Network& b);

/// Warning that parameters with the digest `digest` differ from those saved with `description`; empty if they
/// are the same, or the description has no digest.
std::string changed_warning(const ModelDescription& description, const std::string& place,
                            const std::string& digest);

/// Same warning for metadata that do not match the metadata_digest saved with them.
std::string changed_warning(const std::map<std::string, std::string>& metadata, const std::string& place);

/// Throws Error(data) with the `warning` of changed_warning and advice; does nothing if it is empty.
void refuse_changed(const std::string& warning);

/// A saved model, and its description.
struct SavedModel {
  ModelFile file;
  ModelDescription description;
  std::string place;  ///< file or checkpoint that was read

  bool describes_itself() const { return !description.network.empty(); }
  /// Whether the model says how samples were prepared. Models trained by other programs do not, unless they
  /// name mean or std.
  bool knows_preparation() const {
    const InputOptions& input = description.input;
    const bool is_known = !description.version.empty() || !input.mean.empty() || !input.deviation.empty();
    return describes_itself() && is_known;
  }
  /// Whether the parameters can be compared with the digest of those that were saved.
  bool has_digest() const { return describes_itself() && !description.digest.empty(); }
};

/// Opens the model that a user means by `path`: a model file, a checkpoint, or a run directory. For a run
/// directory: checkpoints/best.safetensors; else checkpoints/final.safetensors; else the newest good
/// checkpoint, with a warning for each later one if `warns`. Throws Error(data), also if parameters or
/// metadata have changed since they were saved.
SavedModel open_model(const std::filesystem::path& path, bool warns);

/// Opens the model of a checkpoint, or of a run directory's newest good one. Throws as open_checkpoint does.
SavedModel open_checkpoint_model(const std::filesystem::path& path, bool warns);

/// Values that the model implies for options of data and input. With another data set, the data options are
/// left out; other images then get the model's input size, if the model was trained on images. The batch size
/// and bf16 are implied too, so that an evaluation repeats the numbers of the training.
std::vector<ImpliedValue> implied_by(const SavedModel& model, const OptionSet::Given& given);

/// Note that samples are not normalised because neither the model nor `input` says how; empty if one does.
std::string preparation_note(const SavedModel& model, const InputOptions& input);

/// Builds the network `name` or, if that is empty, the network that the model describes: for samples of
/// `shape` if the parameters stay the same, else for the described shape. `classes`: number of classes of a
/// model that does not describe its network; 0: as in the file. Throws Error(usage) if the model describes no
/// network and `name` is empty, or if the network `name` has other parameters than the described one.
std::unique_ptr<Network> network_of(const SavedModel& model, const std::string& name, Shape shape,
                                    int classes);

/// The model's encoding of tables; none if it was not trained on a table. Throws Error(data) naming the
/// model's file.
std::optional<TrainedTable> trained_table(const SavedModel& model);

/// Throws Error(data) if the model describes itself and its task is not that of the data set.
void check_task(const Dataset& dataset, const SavedModel& model);

/// Throws Error(data) for a table if the model was trained on images, and vice versa.
void check_kind(const Dataset& dataset, const SavedModel& model);

/// Throws Error(data) for a table whose columns, or numbers to predict, are encoded differently than the
/// model expects, because other training rows were used.
void check_encoding(const Dataset& dataset, const SavedModel& model);

/// A data set that numbers classes or labels of `dataset` as the model numbers the same names; null: the
/// numbers are the same already, or one of the two has no names. Refers to `dataset`. Throws Error(data) with
/// the names for a data set with classes that the model does not have.
std::unique_ptr<Dataset> relabel(const Dataset& dataset, const SavedModel& model);

}  // namespace lockstep
