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

/// Warning that the parameters of a file, whose digest is `digest`, are not those that were saved with its
/// description; empty: they are, or the description has no digest.
std::string changed_warning(const ModelDescription& description, const std::string& place,
                            const std::string& digest);

/// The same for the metadata of a file: that they are not those that were saved with their metadata_digest.
std::string changed_warning(const std::map<std::string, std::string>& metadata, const std::string& place);

/// Throws Error(data) with a warning that something was changed, and what to do; not if it is empty.
void refuse_changed(const std::string& warning);

/// A saved model, and its description.
struct SavedModel {
  ModelFile file;
  ModelDescription description;
  std::string place;  ///< file or checkpoint that was read

  bool describes_itself() const { return !description.network.empty(); }
  /// Whether it says how samples were prepared. Models that other programs have trained do not, unless they
  /// name mean or std.
  bool knows_preparation() const {
    const InputOptions& input = description.input;
    const bool is_known = !description.version.empty() || !input.mean.empty() || !input.deviation.empty();
    return describes_itself() && is_known;
  }
  /// Whether its parameters can be compared with those that were saved.
  bool has_digest() const { return describes_itself() && !description.digest.empty(); }
};

/// Opens the model that a user means by `path`: a model file, a checkpoint, or a run directory. Of a run, it
/// is checkpoints/best.safetensors; else checkpoints/final.safetensors; else the newest good checkpoint, with
/// a warning for each later one if `warns`. Throws Error(data), also if parameters or metadata are not those
/// that were saved.
SavedModel open_model(const std::filesystem::path& path, bool warns);

/// Opens the model of a checkpoint, or of the newest good one of a run directory. Throws as open_checkpoint.
SavedModel open_checkpoint_model(const std::filesystem::path& path, bool warns);

/// Values that the model implies for options of its data and input. If another data set is given, those of
/// the data are left out; other images then have the size of the input, if the model is one of images. The
/// batch size and bf16 are implied too, so that an evaluation repeats the numbers of the training.
std::vector<ImpliedValue> implied_by(const SavedModel& model, const OptionSet::Given& given);

/// Note that samples are not normalised, as neither the model nor `input` says how; empty: one of them does.
std::string preparation_note(const SavedModel& model, const InputOptions& input);

/// Builds the network of the model: the one that it describes, for samples of `shape` if it takes them, else
/// for its own; or the network `name`, unless that is empty. `classes`: number of classes of a model that
/// does not describe itself; 0: that of the file. Throws Error(usage) if the model describes no network and
/// `name` is empty, and if `name` is a network with other parameters than the described one.
std::unique_ptr<Network> network_of(const SavedModel& model, const std::string& name, Shape shape,
                                    int classes);

/// The model's encoding of tables; nothing: it was not trained on one. Throws Error(data) naming its file.
std::optional<TrainedTable> trained_table(const SavedModel& model);

/// Throws Error(data) for a data set of another task than that of a model that describes itself.
void check_task(const Dataset& dataset, const SavedModel& model);

/// Throws Error(data) for a table if the model was trained on images, and the reverse.
void check_kind(const Dataset& dataset, const SavedModel& model);

/// Throws Error(data) for a table whose columns, or numbers to predict, are encoded otherwise than the model
/// expects, by other training rows than its own.
void check_encoding(const Dataset& dataset, const SavedModel& model);

/// A data set with the numbers that a model has for the names of its classes or labels; null: they are the
/// same already, or one of both has no names. Refers to `dataset`. Throws Error(data) with the names for a
/// data set with classes that the model does not have.
std::unique_ptr<Dataset> relabel(const Dataset& dataset, const SavedModel& model);

}  // namespace lockstep
