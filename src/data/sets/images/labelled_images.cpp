#include "data/sets/images/labelled_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/hash.h"
#include "core/text/printable.h"
#include "data/sets/held_out.h"
#include "data/sets/images/label_table.h"
#include "data/sets/parts.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;

/// Image files in a folder and its subfolders. If the folder contains a folder `train`, only images in the
/// folders of parts.
class ImageTree {
 public:
  struct Image {
    std::string path;  ///< relative to the folder
    Part part = Part::train;
    std::size_t table = 0;  ///< index of the table that names the image
    std::size_t line = 0;   ///< line in that table; 0: no table names the image
  };

  explicit ImageTree(const Path& folder) : folder_(folder) {
    const bool has_parts = !find_part(folder, Part::train).empty();
    for (const Part part : all_parts) {
      if (has_parts) part_folders_[number_of(part)] = find_part(folder, part).filename().string();
    }
    for (const Path& path : list_tree(folder)) {
      const auto found = std::ranges::find(part_folders_, path.begin()->string());
      if (!is_image_name(path.filename().string()) || (has_parts && found == part_folders_.end())) continue;
      ids_.emplace(path.string(), images_.size());
      const auto number = static_cast<std::size_t>(found - part_folders_.begin());
      images_.push_back({.path = path.string(), .part = has_parts ? all_parts[number] : Part::train});
    }
  }

  const Path& folder() const { return folder_; }
  std::vector<Image>& images() { return images_; }
  /// Path of the image `path`, relative to the folder of its part.
  std::string path_in_part(const std::string& path) const {
    const std::string& folder = part_folders_[number_of(images_[ids_.at(path)].part)];
    return folder.empty() ? path : path.substr(folder.size() + 1);
  }
  /// Indices of the images that `name` in a table can refer to, in the folder itself or in the folders of
  /// `parts`.
  std::vector<std::size_t> find(const std::string& name, std::span<const Part> parts) const {
    constexpr std::array<std::string_view, 9> extensions = {"",     ".jpg",  ".jpeg", ".png", ".webp",
                                                            ".JPG", ".JPEG", ".PNG",  ".WEBP"};
    const std::string path = below_folder(name);
    std::vector<std::string> starts = {""};
    for (const Part part : parts) {
      const std::string& folder = part_folders_[number_of(part)];
      if (!folder.empty()) starts.push_back(folder + "/");
    }
    std::vector<std::size_t> found;
    for (const std::string& start : starts) {
      for (const std::string_view extension : extensions) {
        const auto image = ids_.find(fmt::format("{}{}{}", start, path, extension));
        if (image != ids_.end()) found.push_back(image->second);
      }
    }
    return found;
  }

 private:
  static std::size_t number_of(Part part) { return static_cast<std::size_t>(part); }
  std::string below_folder(const Path& path) const {
    if (path.is_relative()) return path.lexically_normal().string();
    return path.lexically_relative(std::filesystem::absolute(folder_).lexically_normal()).string();
  }

  Path folder_;
  std::array<std::string, all_parts.size()> part_folders_ = {};  ///< [part] name; empty: no such folder
  std::vector<Image> images_;
  std::unordered_map<std::string, std::size_t> ids_;
};

void append_file(ImageList& list, const ImageList::File& file, std::span<const float> targets) {
  list.files.push_back(file);
  list.targets.insert(list.targets.end(), targets.begin(), targets.end());
}

/// Images of a folder with the labels from the rows of tables, by part.
class LabelledTree {
 public:
  explicit LabelledTree(const Path& folder) : tree_(folder) {
    if (tree_.images().empty()) {
      throw Error(Category::data, fmt::format("{}: no images ({}) there", folder.string(), image_endings));
    }
  }

  /// Adds the rows of the table of `part`; without `part`, of the table of all parts.
  void add(const LabelTable& table, std::optional<Part> part) {
    const std::vector<std::size_t> images =
        find_images(table, part ? std::span(&*part, 1) : std::span<const Part>(all_parts));
    tables_.push_back(table.file);
    const std::size_t count = table.targets.size() / images.size();
    for (std::size_t row = 0; row < images.size(); ++row) {
      ImageTree::Image& image = tree_.images()[images[row]];
      if (image.line > 0) {
        fail(table, row,
             fmt::format("image {} is named a second time, after line {} of {}", in_quotes(table.images[row]),
                         image.line, tables_[image.table]));
      }
      image.table = tables_.size() - 1;
      image.line = table.lines[row];
      append_file(list_of(part.value_or(image.part)),
                  {.name = image.path, .label = table.classes.empty() ? 0 : table.classes[row]},
                  std::span(table.targets).subspan(row * count, count));
    }
  }

  /// Throws for images that no row names.
  void check_all_have_rows(const std::string& tables) {
    std::vector<ImageTree::Image>& images = tree_.images();
    const auto missing = [](const ImageTree::Image& image) { return image.line == 0; };
    const auto number = std::ranges::count_if(images, missing);
    if (number == 0) return;
    throw Error(Category::data, fmt::format("{}: {} of {} images have no row in {}; the first is {}",
                                            tree_.folder().string(), number, images.size(), tables,
                                            in_quotes(std::ranges::find_if(images, missing)->path)));
  }

  /// Images added to a part so far, in the order of the rows. Only files and targets are set.
  ImageList& list_of(Part part) { return lists_[static_cast<std::size_t>(part)]; }
  /// Hash of the image's path below the folder of its part.
  std::uint64_t key_of(const ImageList::File& image) const {
    return Digest(tree_.path_in_part(image.name)).words()[0];
  }
  /// Moves out the complete list of a part. `place`: table or folder of the part, for the error message if
  /// the part has no images.
  ImageList take_list(Part part, const std::string& place, const std::vector<std::string>& labels) {
    ImageList list = std::move(list_of(part));
    if (list.files.empty()) throw Error(Category::data, place + ": no images in this part of the data");
    list.folder = tree_.folder();
    list.classes = labels;
    return list;
  }

 private:
  [[noreturn]] static void fail(const LabelTable& table, std::size_t row, const std::string& what) {
    throw Error(Category::data, fmt::format("{}: line {}: {}", table.file, table.lines[row], what));
  }

  /// [row] index of the image that the row names.
  std::vector<std::size_t> find_images(const LabelTable& table, std::span<const Part> parts) {
    constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> images(table.images.size(), none);
    std::size_t found = 0;
    for (std::size_t row = 0; row < images.size(); ++row) {
      const std::vector<std::size_t> named = tree_.find(table.images[row], parts);
      if (named.size() > 1) {
        fail(table, row,
             fmt::format("{} is the name of {} and {}: add the folder or the extension",
                         in_quotes(table.images[row]), tree_.images()[named[0]].path,
                         tree_.images()[named[1]].path));
      }
      if (named.empty()) continue;
      images[row] = named[0];
      ++found;
    }
    const auto missing = static_cast<std::size_t>(std::ranges::find(images, none) - images.begin());
    if (found == 0) {
      throw Error(Category::data,
                  fmt::format("{}: none of the {} images in column {} is in {}; the first is {}", table.file,
                              images.size(), in_quotes(table.image_column), tree_.folder().string(),
                              in_quotes(table.images[0])));
    }
    if (missing < images.size()) {
      fail(table, missing,
           fmt::format("no image {} in {}", in_quotes(table.images[missing]), tree_.folder().string()));
    }
    return images;
  }

  ImageTree tree_;
  std::array<ImageList, all_parts.size()> lists_ = {};
  std::vector<std::string> tables_;  ///< files of the tables that were added
};

/// Moves the share `fraction` of the training samples to the test samples.
void split_off_test_samples(LabelledTree& tree, const LabelTable& table, double fraction, DataUse use) {
  const std::size_t count = table.labels.size();
  const ImageList all = std::exchange(tree.list_of(Part::train), {});
  std::vector<std::uint64_t> keys;
  for (const ImageList::File& image : all.files) keys.push_back(tree.key_of(image));
  const std::vector<bool> is_test = held_out(rarest_labels(all.targets, count), keys, fraction);
  for (std::size_t i = 0; i < all.files.size(); ++i) {
    append_file(tree.list_of(is_test[i] ? Part::test : Part::train), all.files[i],
                std::span(all.targets).subspan(i * count, count));
  }
  if (tree.list_of(Part::test).files.empty()) {
    throw Error(Category::data,
                fmt::format("{}: a test fraction of {} of {} images leaves none to test{}", table.file,
                            fraction, all.files.size(), without_test_advice(use)));
  }
}

/// Table or folder of each part; empty for a missing part.
struct LabelPlaces {
  bool tables = false;  ///< whether each part has a table; false: one table for all, and parts are folders
  Path train;
  Path validation = {};
  Path test = {};
  double test_fraction = 0.0;  ///< share to hold out
};

LabelPlaces find_label_places(const DatasetOptions& options, DataUse use) {
  const Path folder = options.directory, labels = options.labels;
  if (file_kind(folder) != FileKind::folder) {
    throw Error(
        Category::data,
        fmt::format("{}: is not a folder, from which the images of a table are read", folder.string()),
        "data-dir");
  }
  const bool tables = file_kind(labels) == FileKind::folder;
  const Path& place = tables ? labels : folder;
  const auto find = [&](Part part) { return find_part(place, part, tables ? ".csv" : ""); };
  LabelPlaces places{.tables = tables, .train = find(Part::train)};
  if (tables && places.train.empty()) {
    throw Error(Category::data, fmt::format("{}: no train.csv in this folder", labels.string()), "labels");
  }
  if (places.train.empty()) {
    places.train = folder;
  } else {
    places.validation = find(Part::validation);
    places.test = find(Part::test);
  }
  places.test_fraction = test_share(places.test, options.test_fraction, use);
  if (use == DataUse::training && places.test.empty() && places.validation.empty() &&
      !(places.test_fraction > 0.0)) {
    throw Error(
        Category::usage,
        fmt::format("{}: no {} there: give --test-fraction 0.2 to test with a fifth of the images, or "
                    "make {}",
                    place.string(), tables ? "test.csv" : "folder test",
                    tables ? "test.csv or val.csv" : "train/ and test/ (or val/)"),
        "data-dir");
  }
  return places;
}

/// Adds all tables to `tree`. Returns the table of the training part.
LabelTable add_tables(LabelledTree& tree, const LabelPlaces& places, const DatasetOptions& options,
                      DataUse use) {
  const auto read = [&](const Path& file, const LabelTable* train) {
    CsvFile table(file);
    const CsvOptions columns{.label_column = options.label_column, .drop_columns = options.drop_columns};
    if (options.task != Task::multilabel) return read_class_table(table.reader(), columns, train);
    LabelTable labels = read_label_table(table.reader(), columns.drop_columns, train);
    if (use == DataUse::training) check_several_labels(labels);
    return labels;
  };
  LabelTable table = read(places.tables ? places.train : Path(options.labels), nullptr);
  tree.add(table, places.tables ? std::optional(Part::train) : std::nullopt);
  for (const Part part : {Part::validation, Part::test}) {
    const Path& other = part == Part::test ? places.test : places.validation;
    if (!places.tables || other.empty()) continue;
    tree.add(read(other, &table), part);
  }
  tree.check_all_have_rows(places.tables ? "the tables in " + options.labels : table.file);
  return table;
}

/// Throws if a class has no training images. A table may name classes of test and validation images only.
void check_classes_are_trained(const ImageList& train, const LabelTable& table) {
  std::vector<std::uint64_t> counts(train.classes.size());
  for (const ImageList::File& file : train.files) ++counts[static_cast<std::size_t>(file.label)];
  const auto other = std::ranges::find(counts, std::uint64_t{0});
  if (other == counts.end()) return;
  const std::string& name = train.classes[static_cast<std::size_t>(other - counts.begin())];
  throw Error(Category::data,
              fmt::format("{}: the training images have no class {}", table.file, in_quotes(name)));
}

}  // namespace

ImageParts list_labelled_images(const DatasetOptions& options, DataUse use) {
  const LabelPlaces places = find_label_places(options, use);
  LabelledTree tree(options.directory);
  const LabelTable table = add_tables(tree, places, options, use);
  const bool has_classes = options.task != Task::multilabel, holds_out = places.test_fraction > 0.0;
  if (holds_out && !has_classes) split_off_test_samples(tree, table, places.test_fraction, use);
  const auto list_part = [&](Part part, const Path& place) {
    ImageList images = tree.take_list(part, place.string(), table.labels);
    if (!has_classes) return images;
    images.has_table = true;
    std::ranges::sort(images.files, {}, [](const ImageList::File& file) {
      const std::string_view path = file.name;
      return std::tuple(file.label, path.substr(path.rfind('/') + 1), path);  // npos + 1 is 0
    });
    return images;
  };
  ImageParts parts{.train = list_part(Part::train, places.train), .validation = {}, .test = {}};
  if (has_classes) check_classes_are_trained(parts.train, table);
  if (has_classes && use == DataUse::training) check_several_classes(table.file, table.labels);
  if (!places.validation.empty()) {
    parts.validation = list_part(Part::validation, places.validation);
    parts.validation_origin = places.validation.string();
  }
  if (holds_out) {
    parts.test = has_classes ? split_off_test_images(parts.train, places.test_fraction, use)
                             : list_part(Part::test, places.test);
    parts.test_origin = origin_of_fraction(places.test_fraction);
  } else if (!places.test.empty()) {
    parts.test = list_part(Part::test, places.test);
    parts.test_origin = places.test.string();
  }
  return parts;
}

}  // namespace lockstep
