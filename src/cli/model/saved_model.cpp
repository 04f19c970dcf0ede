#include "cli/model/saved_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/model/find_checkpoints.h"
#include "cli/model/model_options.h"
#include "cli/options/flag.h"
#include "core/files/file_system.h"
#include "core/options/check.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/models.h"
#include "run/facts.h"
#include "train/run_description.h"

namespace lockstep {
namespace {

SavedModel described(ModelFile file, std::string place) {
  ModelDescription description = description_of(file);
  return {std::move(file), std::move(description), std::move(place)};
}

/// Reads a model file. Throws Error(data), also if it was changed since it was saved.
SavedModel read_model(const std::string& path) {
  SavedModel model = described(ModelFile::read(path), path);
  refuse_changed(changed_warning(model.file.metadata(), path));
  if (model.has_digest()) {
    refuse_changed(
        changed_warning(model.description, path, digest(*make_network(model.description, path), model.file)));
  }
  return model;
}

/// A data set whose classes or labels are numbered as the model's. Labels that only the model has apply to no
/// sample.
class Relabelled final : public Dataset {
 public:
  Relabelled(const Dataset& whole, Names names, std::vector<int> labels)
      : whole_(whole), names_(std::move(names)), labels_(std::move(labels)) {
    if (whole_.task() != Task::multilabel) return;
    targets_.resize(whole_.size() * names_.size());
    for (std::uint64_t id = 0; id < whole_.size(); ++id) {
      const std::span<const float> own = whole_.targets(id);
      for (std::size_t k = 0; k < own.size(); ++k) {
        targets_[id * names_.size() + static_cast<std::size_t>(labels_[k])] = own[k];
      }
    }
  }

  std::uint64_t size() const override { return whole_.size(); }
  Shape shape() const override { return whole_.shape(); }
  int classes() const override { return static_cast<int>(names_.size()); }
  Task task() const override { return whole_.task(); }
  Encoding encoding() const override { return whole_.encoding(); }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    return whole_.sample(id, buffer);
  }
  int label(std::uint64_t id) const override { return labels_[static_cast<std::size_t>(whole_.label(id))]; }
  std::span<const float> targets(std::uint64_t id) const override {
    if (targets_.empty()) return whole_.targets(id);
    return std::span(targets_).subspan(id * names_.size(), names_.size());
  }
  TargetScale target_scale() const override { return whole_.target_scale(); }
  /// Fingerprint of `whole_`, as ranks compare its labels and the model's class names elsewhere.
  std::string fingerprint() const override { return whole_.fingerprint(); }
  std::string sample_name(std::uint64_t id) const override { return whole_.sample_name(id); }
  Names class_names() const override { return names_; }
  std::vector<std::string> warnings() const override { return whole_.warnings(); }
  const TableEncoding* table_encoding() const override { return whole_.table_encoding(); }

 private:
  const Dataset& whole_;
  Names names_;
  std::vector<int> labels_;     ///< the model's number, by class or label of `whole_`
  std::vector<float> targets_;  ///< multilabel: [sample][label]
};

/// Number of outputs of the network `name`, read from its last layer in a file that does not describe it.
int outputs_in(const SavedModel& model, const std::string& name, Shape shape) {
  const std::unique_ptr<Network> network = make_model(name, shape, 1);
  const Network::Layer& last = network->layers()[static_cast<std::size_t>(network->output_id())];
  for (const TensorInfo& tensor : model.file.tensors()) {
    const bool is_last =
        !last.parameters.empty() && !tensor.shape.empty() &&
        tensor.name == network->parameters()[static_cast<std::size_t>(last.parameters[0])].name;
    if (is_last && tensor.shape[0] > 0 && tensor.shape[0] <= max_features)
      return static_cast<int>(tensor.shape[0]);
  }
  throw Error(Category::data,
              fmt::format("{}: parameters of another network than {}", model.place, in_quotes(name)));
}

/// Network of the model for samples of another shape; null if the network does not accept them.
std::unique_ptr<Network> with_shape(const SavedModel& model, Shape shape) {
  ModelDescription description = model.description;
  description.shape = shape;
  try {
    return make_network(description, model.place);
  } catch (const Error&) {
    return nullptr;
  }
}

/// The network `name` for the samples of a model; null if the network does not accept them.
std::unique_ptr<Network> network_for(const std::string& name, const ModelDescription& description) {
  check_model_name(name);
  try {
    return make_model(name, description.shape, description.outputs);
  } catch (const Error& error) {
    if (error.category() != Category::usage) throw;
    return nullptr;
  }
}

/// Advice at the end of a message about an unknown label; empty unless it is a word of a known label. Spaces
/// separate labels in a table without another separator.
std::string advice_on_words(const std::string& label, const Names& known) {
  const auto has_word = [&](const std::string& name) {
    return std::ranges::count(split(name, ' '), label) > 0;
  };
  if (std::ranges::none_of(known, has_word)) return {};
  return "; spaces separate the labels of a table without | between them: write a column of 0 and 1 for each";
}

}  // namespace

std::string fact(const Facts& facts, const std::string& name) {
  const std::string* const found = find_fact(facts, name);
  return found == nullptr ? "" : *found;
}

bool same_parameters(const Network& a, const Network& b) {
  return std::ranges::equal(a.parameters(), b.parameters(), [](const Parameter& one, const Parameter& other) {
    return one.name == other.name && one.shape == other.shape;
  });
}

std::string changed_warning(const ModelDescription& description, const std::string& place,
                            const std::string& digest) {
  if (description.digest.empty() || description.digest == digest) return "";
  return fmt::format("{}: the parameters are not those that were saved, whose digest was {}", place,
                     description.digest);
}

std::string changed_warning(const std::map<std::string, std::string>& metadata, const std::string& place) {
  const auto saved = metadata.find(metadata_digest_name);
  if (saved == metadata.end() || saved->second == metadata_digest(metadata)) return "";
  return fmt::format("{}: the metadata are not those that were saved, whose digest was {}", place,
                     saved->second);
}

void refuse_changed(const std::string& warning) {
  if (warning.empty()) return;
  throw Error(Category::data,
              fmt::format("{}: it is damaged, or was changed without removing 'digest' and '{}' from its "
                          "metadata",
                          warning, metadata_digest_name));
}

SavedModel open_checkpoint_model(const std::filesystem::path& path, bool warns) {
  const Checkpoint checkpoint = open_checkpoint(path, warns);
  return described(results_of(checkpoint), checkpoint.folder.string());
}

SavedModel open_model(const std::filesystem::path& path, bool warns) {
  const std::filesystem::path named = run_or_checkpoint(path);
  if (file_kind(named) != FileKind::folder) return read_model(path.string());
  const std::vector<std::string> models = find_models(path);
  if (models.empty()) return open_checkpoint_model(named, warns);
  return read_model(models.front());
}

std::vector<ImpliedValue> implied_by(const SavedModel& model, const OptionSet::Given& given) {
  std::vector<ImpliedValue> values;
  const ModelDescription& description = model.description;
  if (!model.describes_itself()) return values;
  const auto add = [&](std::string name, std::string value, bool contradicts) {
    if (!value.empty()) values.push_back({std::move(name), std::move(value), model.place, contradicts});
  };
  const std::string saved = fact(description.data, "dataset");
  const std::string dataset = given("dataset").empty() ? saved : given("dataset");
  if (dataset == saved) {
    // Images from another --data-dir may take their classes from folder names: do not imply a label table.
    const bool is_elsewhere = dataset == "images" && description.task == name_of(Task::classification) &&
                              given("labels").empty() && !given("data-dir").empty() &&
                              !is_same_file(given("data-dir"), fact(description.data, "data-dir"));
    for (const auto& [name, value] : description.data) {
      if (is_elsewhere && (name == "labels" || name == "label-column" || name == "drop-columns")) continue;
      add(name, value, name != "data-dir" && name != "labels");
    }
  } else if (dataset == "images" && description.table.empty()) {
    add("image-size", std::to_string(description.shape.height), true);
    add("channels", std::to_string(description.shape.channels), true);
  }
  for (const OptionText& text : texts_of(description.input)) {
    const std::string name = text.field.name;
    if (name != "strict" && (name != "crop-pct" || dataset == "images")) add(name, text.value, true);
  }
  for (const char* const name : {"batch-size", "micro-batches"}) {
    add(name, fact(description.options, name), false);
  }
  // tf32 is not implied, as CPU ranks cannot compute in it.
  if (fact(description.options, "dtype") == "bf16") add("dtype", "bf16", false);
  return values;
}

std::string preparation_note(const SavedModel& model, const InputOptions& input) {
  if (model.knows_preparation() || !input.mean.empty() || !input.deviation.empty()) return "";
  return fmt::format(
      "{}: does not contain how samples were prepared, so they are not normalised: give the {} and {} of its "
      "training, which are imagenet for torchvision's parameters",
      model.place, flag_of(&InputOptions::mean), flag_of(&InputOptions::deviation));
}

std::unique_ptr<Network> network_of(const SavedModel& model, const std::string& name, Shape shape,
                                    int classes) {
  if (!model.describes_itself()) {
    if (!name.empty()) return make_model(name, shape, classes > 0 ? classes : outputs_in(model, name, shape));
    throw Error(Category::usage,
                fmt::format("{}: does not contain its network, as it is not from this version "
                            "of lockstep: name the network, such as {} resnet18",
                            model.place, flag_of(&ModelOptions::name)));
  }
  std::unique_ptr<Network> own = make_network(model.description, model.place);
  if (name.empty()) {
    std::unique_ptr<Network> resized = with_shape(model, shape);
    return resized && same_parameters(*resized, *own) ? std::move(resized) : std::move(own);
  }
  std::unique_ptr<Network> named = network_for(name, model.description);
  if (named && same_parameters(*named, *own)) return named;
  const std::string own_name = fact(model.description.options, "model");
  throw Error(Category::usage,
              fmt::format("{} is not the network of {}{}: omit it", in_quotes(name), model.place,
                          own_name.empty() ? "" : fmt::format(", which is {}", in_quotes(own_name))),
              "model");
}

std::optional<TrainedTable> trained_table(const SavedModel& model) {
  const ModelDescription& description = model.description;
  if (description.table.empty()) return {};
  TrainedTable table{.encoding = table_encoding_of(description, model.place),
                     .scale = description.target_scale};
  if (description.task == name_of(Task::classification)) table.classes = description.classes;
  return table;
}

void check_task(const Dataset& dataset, const SavedModel& model) {
  const std::string task = name_of(dataset.task());
  if (!model.describes_itself() || task == model.description.task) return;
  throw Error(Category::data, fmt::format("{}: is a model of task {}; the task of the data set is {}",
                                          model.place, in_quotes(model.description.task), in_quotes(task)));
}

void check_kind(const Dataset& dataset, const SavedModel& model) {
  const bool is_trained = model.has_digest() && !model.description.options.empty();  // false if imported
  if (!is_trained || model.description.table.empty() == (dataset.table_encoding() == nullptr)) return;
  const auto kind = [](bool is_table) { return is_table ? "tables" : "images"; };
  throw Error(Category::data,
              fmt::format("{}: is a model of {}, the data set is one of {}", model.place,
                          kind(!model.description.table.empty()), kind(dataset.table_encoding() != nullptr)));
}

void check_encoding(const Dataset& dataset, const SavedModel& model) {
  if (!model.describes_itself()) return;
  if (table_text(dataset) == model.description.table &&
      dataset.target_scale() == model.description.target_scale)
    return;
  throw Error(
      Category::data,
      fmt::format(
          "the data set has other training rows than {}, so its columns are encoded otherwise; --split "
          "all uses the model's encoding",
          model.place));
}

std::unique_ptr<Dataset> relabel(const Dataset& dataset, const SavedModel& model) {
  const Names &known = model.description.classes, names = dataset.class_names();
  if (known.empty() || names.empty() || names == known) return nullptr;
  const std::string noun = dataset.task() == Task::multilabel ? "label" : "class";
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < known.size(); ++i) numbers.emplace(known[i], static_cast<int>(i));
  std::vector<int> labels;
  for (const std::string& name : names) {
    const auto found = numbers.find(name);
    if (found == numbers.end()) {
      throw Error(
          Category::data,
          fmt::format("the data set has a {0} {1}, which {2} does not know; {3} of the data set: {4}; of "
                      "the model: {5}{6}",
                      noun, in_quotes(name), model.place, plural(noun), first_names(names),
                      first_names(known), noun == "label" ? advice_on_words(name, known) : ""));
    }
    labels.push_back(found->second);
  }
  return std::make_unique<Relabelled>(dataset, known, std::move(labels));
}

}  // namespace lockstep
