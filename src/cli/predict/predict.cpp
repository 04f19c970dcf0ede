#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/model/data_part.h"
#include "cli/model/labels.h"
#include "cli/model/model_options.h"
#include "cli/model/saved_model.h"
#include "cli/output.h"
#include "cli/predict/inputs.h"
#include "cli/predict/prediction_printer.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/options/check.h"
#include "core/text/command_line.h"
#include "core/text/message.h"
#include "data/sets/images/image_list.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/task.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

struct PredictOptions {
  std::string file;
  std::vector<std::string> paths;
  int top = 1;
  PredictionFormat format = PredictionFormat::text;
  ModelOptions model{.name = {}};
  DatasetOptions data{.name = {}};
  Split split = Split::test;
  InputOptions input;
  BatchOptions batch;
  ExecutionOptions execution;
  std::optional<SavedModel> saved = {};
  bool has_dataset = false;  ///< whether a data set is predicted instead of paths
  bool has_top = false;      ///< whether `top` is given
  bool has_size = false;     ///< whether the size of images is given
};

template <OptionsOf<PredictOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [file, paths, top, format, model, data, split, input, batch, execution, saved,
                          has_dataset, has_top, has_size] = options;
  field(top, {.name = "top",
              .help = "number of classes to print for each input, the most probable first; of labels, "
                      "without it: those with a probability above 1/2",
              .group = "Output",
              .range = {.min = 1, .max = 1U << 20},
              .scope = Scope::local});
  field(format, {.name = "format",
                 .help = "text: a line for each input; csv: a line for each input and class; json: a JSON "
                         "object on a line for each input (docs/predict.md)",
                 .scope = Scope::local});
  visit(model, field);
  visit(data, field);
  field(split, {.name = "split", .help = "part of the data set to predict; all: every sample"});
  visit(input, field);
  visit(batch, field);
  visit(execution, field);
}

/// Whether the model's value of option `name` is used to read image files, unless a user sets the option.
bool reads_images_with(const ModelDescription& description, const std::string& name) {
  const Shape& shape = description.shape;
  if (!description.table.empty()) return false;
  if (name == "channels") return shape.channels == 1 || shape.channels == 3;
  return name == "image-size" ? shape.height == shape.width : name == "crop-pct";
}

/// Values that the model implies for options of the input and, with --dataset, of the data set. Batch size
/// and micro-batches of the training are left out, as the outputs do not depend on them.
std::vector<ImpliedValue> implied(PredictOptions& options, const OptionSet::Given& given) {
  options.saved = open_model(options.file, is_first_process());
  options.has_dataset = !given("dataset").empty();
  if (!options.has_dataset) options.data.name = "images";  // so that the options of images apply
  options.has_top = !given("top").empty();
  options.has_size = !given("image-size").empty();
  std::vector<ImpliedValue> values = implied_by(*options.saved, [&](const std::string& name) {
    return name == "dataset" && !options.has_dataset ? options.data.name : given(name);
  });
  std::erase_if(values, [&](const ImpliedValue& value) {
    if (value.name == "batch-size" || value.name == "micro-batches") return true;
    if (value.name == "mean" || value.name == "std") return false;
    const bool is_of_files = value.name == "crop-pct" || !options.has_dataset;
    return is_of_files && !reads_images_with(options.saved->description, value.name);
  });
  return values;
}

/// Options that only select the data set to predict.
Names names_of_data(const PredictOptions& options) {
  Names names{"split"};
  for (const OptionText& text : texts_of(options.data)) {
    const std::string name = text.field.name;
    if (name != "image-size" && name != "channels") names.push_back(name);
  }
  return names;
}

OptionSet option_set(PredictOptions& options) {
  OptionSet set(
      "lockstep predict [options] MODEL PATH... | MODEL --dataset NAME",
      "Predicts classes or labels, with their probabilities, or numbers for images or the rows of tables "
      "with a saved model, which contains its network, the names of its classes, the preparation of its "
      "input, and whether its training computed in bf16; options override the last two. Prints them in the "
      "order of the inputs, which are spread over all ranks. An input that cannot be read, or for which the "
      "outputs of the network are not finite, is named on stderr; the others are predicted, and the exit "
      "status is 3.");
  set.positional("MODEL", "model file, checkpoint or run directory, as for lockstep eval", options.file);
  set.list(
      "PATH...",
      "images, in JPEG, PNG or WebP; folders and tar archives of them; tables (.csv), for a model of tables; "
      "- for names on the standard input, one on a line",
      options.paths, names_of_data(options));
  set.add(options);
  set.config_file();
  set.imply([&options](const OptionSet::Given& given) { return implied(options, given); });
  set.check([&options] {
    if (!options.paths.empty() || options.has_dataset) return;
    const std::string& folder = options.data.directory;
    throw Error(Category::usage,
                folder.empty() ? "name images, folders, archives or tables, or a data set with --dataset"
                               : fmt::format("--data-dir needs --dataset; to predict all files in a folder, "
                                             "give the folder alone: {}",
                                             shell_line({"predict", options.file, folder})));
  });
  set.epilogue(
      "Examples:\n  lockstep predict runs/flowers-1 rose.jpg\n"
      "  lockstep-run -np 2 predict flowers.safetensors photos --top 3 --format csv\n"
      "  find . -name '*.jpg' | lockstep predict flowers.safetensors - --format json\n"
      "  lockstep predict flowers.safetensors shards/*.tar\n"
      "  lockstep predict prices.safetensors new-houses.csv\n"
      "  lockstep predict lenet.safetensors --dataset fashion-mnist\n");
  return set;
}

/// Shape of the network's input: the model's, unless a size is given or the model does not know its shape.
Shape input_shape(const PredictOptions& options) {
  const Shape described = options.saved->description.shape;
  const int size = options.data.image_size;
  if (described.channels < 1) return {options.data.channels, size, size};
  return options.has_size ? Shape{described.channels, size, size} : described;
}

/// Throws Error(data) if the data set is a folder of images without folders of classes.
void check_has_classes(const PredictOptions& options) {
  const std::filesystem::path folder = options.data.directory;
  if (options.data.name != "images" || options.data.task != Task::classification || !is_folder(folder))
    return;
  const std::vector<std::string> names = list_folder(folder);
  const auto may_be_part = [&](const std::string& name) {
    return name.ends_with(".tar") || name.ends_with(".index") || is_folder(folder / name);
  };
  if (std::ranges::none_of(names, is_image_name) || std::ranges::any_of(names, may_be_part)) return;
  throw Error(Category::data,
              fmt::format("{}: holds images, but no folders named after classes; to predict the images: {}",
                          folder.string(), shell_line({"predict", options.file, folder.string()})));
}

/// Opens the named inputs, and prints warnings about them and about inputs that cannot be read. Collective.
InputSamples open_inputs(const World& world, const PredictOptions& options) {
  const SavedModel& model = *options.saved;
  const bool takes_tables = !model.description.table.empty();
  const bool strict = options.input.strict;
  const NamedFiles named =
      find_inputs(world, options.paths, takes_tables ? table_inputs() : image_inputs(), strict);
  InputSamples inputs;
  world.agree([&] {
    if (takes_tables) {
      inputs = read_tables(named.files, trained_table(model)->encoding, strict);
    } else {
      inputs = find_images(named.files, input_shape(options), strict);
    }
    inputs.unreadable.insert(inputs.unreadable.begin(), named.unreadable.begin(), named.unreadable.end());
    if (world.rank() != 0) return;
    print_warnings(inputs.samples->warnings());
    for (const UnreadInput& input : inputs.unreadable) print_warning(input.error);
  });
  return inputs;
}

/// Printer for the task of the model. Outputs are named as in the model, else as in the data set, else
/// numbered.
std::unique_ptr<PredictionPrinter> make_printer(const PredictOptions& options, const Dataset& dataset,
                                                const Network& network) {
  const ModelDescription& description = options.saved->description;
  const std::string& place = options.saved->place;
  const auto top = static_cast<std::size_t>(options.top);
  const Names names = names_or_numbers(
      description.classes.empty() ? dataset.class_names() : description.classes, network.classes());
  if (description.task == name_of(Task::classification)) {
    return print_classes(dataset, names, top, options.format);
  }
  if (description.task == name_of(Task::multilabel)) {
    return print_labels(dataset, names, options.has_top ? std::optional(top) : std::nullopt, options.format);
  }
  if (options.has_top)
    throw Error(Category::usage, fmt::format("has no effect: {} predicts numbers: omit it", place), "top");
  if (network.classes() != 1) {
    throw Error(Category::data,
                fmt::format("{}: its network has {} outputs, a model of task regression has 1", place,
                            network.classes()));
  }
  return print_numbers(dataset, names[0], description.target_scale, options.format);
}

int print_predictions(World& world, const PredictOptions& options) {
  const SavedModel& model = *options.saved;
  DataPart data;
  InputSamples named;
  if (options.has_dataset) {
    world.agree([&] { check_has_classes(options); });
    data = open_part(world, options.data, options.split, model);
  } else {
    named = open_inputs(world, options);
  }
  const Dataset& dataset = named.samples ? *named.samples : data.samples();
  std::uint64_t unreadable = named.unreadable.size();
  bool some_not_finite = false;  // whether some outputs are not finite
  std::unique_ptr<Network> network;
  std::unique_ptr<PredictionPrinter> printer;
  world.agree([&] {
    if (options.has_dataset) check_encoding(dataset, model);
    if (dataset.size() == 0 && unreadable > 0) {
      if (world.rank() == 0) print(text_of(named.unreadable, options.format));
      throw Error(Category::data, "none of the inputs could be read");
    }
    if (dataset.size() == 0) throw Error(Category::usage, "no inputs were named");
    network = network_of(model, options.model.name, dataset.shape(), 0);
    printer = make_printer(options, dataset, *network);
    if (world.rank() == 0 && dataset.encoding() != Encoding::floats)
      print_message(preparation_note(model, options.input));
  });
  const std::uint64_t inputs = dataset.size() + unreadable;  // samples, and files that have none
  if (world.rank() == 0) print(printer->head() + text_of(named.unreadable, options.format));
  predict(world, *network, model.file, dataset,
          {.input = options.input, .batch = options.batch, .execution = options.execution},
          [&](const OutputBlock& block) {
            print(printer->text(block));
            flush_output();
            unreadable += block.unreadable.size();
            for (const UnreadableSample& sample : block.unreadable) {
              print_warning(sample.reason);
              some_not_finite = some_not_finite || sample.is_not_finite;
            }
          });
  world.agree([&] {
    if (unreadable == 0) return;
    throw Error(Category::data, fmt::format("{} of {} inputs could not be {}", unreadable, inputs,
                                            some_not_finite ? "predicted" : "read"));
  });
  return 0;
}

}  // namespace

constinit const Command predict_command = command_of_ranks<PredictOptions, option_set, print_predictions>(
    "predict", "predict classes with a saved model");

}  // namespace lockstep
