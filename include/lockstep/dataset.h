#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/field.h"
#include "lockstep/shape.h"
#include "lockstep/task.h"

namespace lockstep {

class World;
struct TableEncoding;

/// Format in which a data set returns its samples.
enum class Encoding {
  pixels,      ///< uint8, [channel][row][column] of the data set's shape
  floats,      ///< float32 in the machine's byte order, aligned as floats, one per element of the shape
  image_file,  ///< a JPEG, PNG or WebP file of any size
};

/// Labelled samples with random access. Immutable: safe from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint64_t size() const = 0;
  /// Shape of a sample as the network receives it.
  virtual Shape shape() const = 0;
  /// Number of outputs that a network needs: the classes or labels; 1 for regression.
  virtual int classes() const = 0;
  virtual Task task() const { return Task::classification; }
  virtual Encoding encoding() const { return Encoding::pixels; }
  /// Bytes of sample `id` < size() in the format encoding(): a view of the data set's memory, or of `buffer`,
  /// which only grows. Throws Error(data) for a sample that cannot be read.
  virtual std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const = 0;
  /// Class of sample `id`, in [0, classes()). For classification only.
  virtual int label(std::uint64_t id) const = 0;
  /// Targets of sample `id` for the other tasks: classes() numbers in the data set's memory. Regression: the
  /// number to predict, normalised by target_scale(). Multilabel: for each label, 1 if it applies, else 0.
  virtual std::span<const float> targets(std::uint64_t /*id*/) const { return {}; }
  virtual TargetScale target_scale() const { return {}; }
  /// Hash of the samples, labels and their order, independent of where files lie: 32 hexadecimal digits. The
  /// default implementation reads all samples; an unreadable sample counts as empty.
  virtual std::string fingerprint() const;
  /// Origin of sample `id`, for messages: a file's path, or "sample 17".
  virtual std::string sample_name(std::uint64_t id) const;
  /// Names of the outputs, in order: the classes, the labels, or the number to predict. classes() names;
  /// empty if the outputs are unnamed.
  virtual std::vector<std::string> class_names() const { return {}; }
  /// Warnings about oddities of the files: files that are not samples, columns that number the rows.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// Mapping of a table's columns to the elements of a sample, the same for all parts of a data set. Null if
  /// the data set is not a table. Lives as long as the data set.
  virtual const TableEncoding* table_encoding() const { return nullptr; }
};

/// Training and test samples, with equal shape, classes and encoding.
struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
  /// Samples for choosing between models: a part of the data set, or held-out training samples; null: none.
  std::unique_ptr<Dataset> validation = nullptr;
  /// Owner of the samples of `train` and `validation`; null without a validation fraction.
  std::unique_ptr<Dataset> whole = nullptr;
  /// Origins of the test and validation samples, for messages: a path, or "test fraction 0.2"; empty:
  /// unknown.
  std::string test_origin = {};
  std::string validation_origin = {};
  /// Whether `test` is the validation part of a data set without a test part.
  bool tests_on_validation = false;
};

/// Choice of a data set, and options that some data sets have; `visit` describes them.
struct DatasetOptions {
  std::string name = "fashion-mnist";
  std::string directory = {};
  int image_size = 224;
  int channels = 3;
  Task task = Task::classification;
  std::string labels = {};  ///< table of the images, or folder with a table for each part
  std::string label_column = {};
  Names drop_columns = {};
  double test_fraction = 0.0;
  double validation_fraction = 0.0;
  Shape shape = {3, 32, 32};
  int classes = 10;
  std::uint64_t samples = 10'000;

  bool operator==(const DatasetOptions&) const = default;
};

/// Data set names that open_dataset accepts.
std::vector<std::string> dataset_names();

template <OptionsOf<DatasetOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [name, directory, image_size, channels, task, labels, label_column, drop_columns, test_fraction,
         validation_fraction, shape, classes, samples] = options;
  field(name, {.name = "dataset", .help = "data set", .group = "Data", .choices = dataset_names});
  field(directory, {.name = "data-dir",
                    .help = "folder with the files of the data set, or a file (csv, tar), or tar files "
                            "(train-{00..09}.tar); without it: /usr/share/datasets/fashion-mnist for "
                            "fashion-mnist",
                    .placeholder = "DIR",
                    .scope = Scope::local});
  field(image_size, {.name = "image-size",
                     .help = "height and width, in pixels, of the images that the network sees",
                     .range = {.min = 1, .max = 4096},
                     .needs = {{"dataset", {"images"}}}});
  field(channels,
        {.name = "channels",
         .help = "number of channels: 3 for colour, 1 for grey; files of the other kind are converted",
         .choices =
             [] {
               return Names{"3", "1"};
             },
         .needs = {{"dataset", {"images"}}}});
  field(task, {.name = "task",
               .help = "what to predict: the class of each sample (classification), the number in the label "
                       "column of a table (regression), or any number of labels of each image (multilabel)",
               .needs = {{"dataset", {"csv", "images"}}}});
  field(labels, {.name = "labels",
                 .help = "table of the images: a column with the names of the files, and one with their "
                         "classes or, for multilabel, with the names of their labels, or one of 0 and 1 for "
                         "each label; or a folder with train.csv, val.csv and test.csv",
                 .placeholder = "FILE.csv",
                 .scope = Scope::file,
                 .needs = {{"dataset", {"images"}}}});
  field(label_column, {.name = "label-column",
                       .help = "name of the column with the classes, or the numbers to predict; without it: "
                               "'label' or, if there is none, the last column (of images: the only one "
                               "beside the names of the files)",
                       .needs = {{"dataset", {"csv", "images"}}}});
  field(drop_columns, {.name = "drop-columns",
                       .help = "names of columns that are neither features nor labels, such as row numbers",
                       .needs = {{"dataset", {"csv", "images"}}}});
  field(test_fraction, {.name = "test-fraction",
                        .help = "share of the rows or images of each class that is held out for testing; for "
                                "data without test.csv, a folder test or test*.tar",
                        .range = {.below = 1},
                        .needs = {{"dataset", {"csv", "images"}}}});
  field(validation_fraction,
        {.name = "validation-fraction",
         .help = "share of the training samples of each class that is held out to choose the best epoch and "
                 "to stop early; the same samples whatever the seed; for data without a validation part; 0: "
                 "the test set is used for both",
         .range = {.below = 1}});
  field(shape, {.name = "synthetic-shape",
                .help = "channels, rows and columns of the images",
                .needs = {{"dataset", {"synthetic"}}}});
  field(classes, {.name = "classes",
                  .help = "number of classes",
                  .range = {.min = 1, .max = 1U << 20},
                  .needs = {{"dataset", {"synthetic"}}}});
  field(samples, {.name = "samples",
                  .help = "number of training images; for testing there are a fifth as many",
                  .range = {.min = 1, .max = 1099511627776.0},
                  .needs = {{"dataset", {"synthetic"}}}});
}

/// Opens the data set. Ranks of one host share one copy of fashion-mnist, mnist, cifar10 and cifar100 in
/// memory, if the host allows sharing; otherwise, and for tables (csv), each rank has a copy. Collective.
/// Throws on all ranks: Error(usage) for impossible options, Error(data) for missing or bad files.
DatasetPair open_dataset(const World& world, const DatasetOptions& options = {});

}  // namespace lockstep
