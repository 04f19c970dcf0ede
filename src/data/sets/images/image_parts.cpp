#include "data/sets/images/image_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/hash.h"
#include "core/text/command_line.h"
#include "core/text/printable.h"
#include "data/files/number_pattern.h"
#include "data/sets/held_out.h"
#include "data/sets/images/image_folder.h"
#include "data/sets/images/tar_images.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Folder or archives of a part. Both are empty if there is no such part.
struct PartPlace {
  std::filesystem::path folder = {};
  std::vector<std::filesystem::path> archives = {};

  bool empty() const { return folder.empty() && archives.empty(); }
  /// The folder, or the first archive.
  std::filesystem::path path() const { return archives.empty() ? folder : archives[0]; }
};

/// Part name at the beginning of an archive's name: "train" for "train-007.tar", "train_7.tar" and
/// "train.tar"; empty for a file that is not an archive.
std::string part_name_of(const std::string& file) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return is_tar_name(file) ? std::string(file.begin(), std::ranges::find_if_not(file, is_letter))
                           : std::string();
}

PartPlace find_part_place(const std::filesystem::path& folder, Part part) {
  PartPlace place{.folder = find_part(folder, part)};
  std::string part_name;
  for (const std::string& name : list_folder(folder)) {
    const std::string found = part_name_of(name);
    if (std::ranges::count(names_of(part), found) == 0) continue;
    if (file_kind(folder / name) == FileKind::folder) continue;
    if (!place.archives.empty() && found != part_name) fail_two_parts(folder, place.archives[0], name);
    part_name = found;
    place.archives.push_back(folder / name);
  }
  if (!place.folder.empty() && !place.archives.empty())
    fail_two_parts(folder, place.folder, place.archives[0]);
  return place;
}

ImageList list(const PartPlace& place, const std::vector<std::string>& classes = {}) {
  return place.archives.empty() ? list_images(place.folder, classes)
                                : list_tar_images(place.archives, classes);
}

/// Throws for a folder with the part `other`, but without the training part.
[[noreturn]] void fail_without_train(const std::filesystem::path& folder, const PartPlace& other,
                                     DataUse use) {
  const std::string reason =
      fmt::format("{}: no folder train there beside {}", folder.string(), other.path().filename().string());
  if (use == DataUse::measuring && other.archives.size() <= 1) {
    throw Error(Category::data,
                fmt::format("{}; to take its images, give {}", reason,
                            shell_line({"--data-dir", other.path().string(), "--split", "all"})));
  }
  throw Error(
      Category::data,
      fmt::format("{}; images must lie in train/CLASS/, test/CLASS/ and val/CLASS/, or in train*.tar, "
                  "test*.tar and val*.tar{}",
                  reason, class_name_advice(other.path())));
}

/// Places of the parts of a data set; at most the training part unless `place` is a folder with parts.
Parts<PartPlace> find_places(const std::filesystem::path& place, DataUse use) {
  const FileKind kind = file_kind(place);
  if (kind == FileKind::folder) {
    Parts<PartPlace> places{.train = find_part_place(place, Part::train),
                            .validation = find_part_place(place, Part::validation),
                            .test = find_part_place(place, Part::test)};
    const PartPlace& other = places.test.empty() ? places.validation : places.test;
    if (places.train.empty() && !other.empty()) fail_without_train(place, other, use);
    return places;
  }
  const bool is_pattern = place.string().find_first_of("{}") != std::string::npos;
  if (kind == FileKind::missing && !is_pattern && !place.string().ends_with(".tar")) {
    return {.train = {.folder = place}};
  }
  if (kind != FileKind::missing) return {.train = {.archives = {place}}};
  try {
    const std::vector<std::string> names = expand_numbers(place.string());
    return {.train = {.archives = {names.begin(), names.end()}}};
  } catch (const Error& error) {
    throw Error(error.category(), error.what(), "data-dir");
  }
}

/// Throws if there is neither a test part, a validation part nor a test fraction.
void check_tested(const std::filesystem::path& place, const Parts<PartPlace>& places, double test_fraction) {
  if (!places.test.empty() || !places.validation.empty() || test_fraction > 0.0) return;
  if (places.train.archives.empty() && file_kind(place) != FileKind::folder) return;  // list_images throws
  const bool divided = !places.train.empty() && places.train.path() != place;
  throw Error(
      Category::usage,
      places.train.archives.empty()
          ? fmt::format("{}: no folder{} test there: give --test-fraction 0.2 to test with a fifth of the "
                        "images, or make train/CLASS/ and test/CLASS/ (or val/CLASS/)",
                        place.string(), divided ? "" : "s train and")
          : fmt::format(
                "{}: no test*.tar (or val*.tar) there: give --test-fraction 0.2 to test with a fifth of "
                "the images, or the folder of train*.tar and test*.tar",
                place.string()),
      "data-dir");
}

/// Hash of CLASS/NAME of a file.
std::uint64_t key_of(const ImageList& list, const ImageList::File& file) {
  const std::string name = fmt::format("{}/{}", list.classes[static_cast<std::size_t>(file.label)],
                                       std::filesystem::path(file.name).filename().string());
  return Digest(name).words()[0];
}

/// Warning about archives, images and folders of images in `folder` that belong to no part; empty if there
/// are none. `train`: the training part, which must exist.
std::string text_of_others(const std::filesystem::path& folder, const PartPlace& train) {
  std::size_t count = 0;
  std::string first, advice;
  for (const std::string& name : list_folder(folder)) {
    const bool is_archive = is_tar_name(name);
    const std::string part = is_archive ? part_name_of(name) : name;
    const auto is_called = [&](Part one) { return std::ranges::count(names_of(one), part) > 0; };
    if (name.front() == '.' || std::ranges::any_of(all_parts, is_called)) continue;
    if (!is_archive && !is_image_name(name) && !holds_images(folder / name)) continue;
    if (count++ == 0) first = name;
    // part_name_advice() ignores case: capital letters may be the mistake.
    if (advice.empty()) advice = part_name_advice(name.substr(0, name.find_first_of("-_.0123456789")));
  }
  if (count == 0) return {};
  return fmt::format("{}: {} skipped, beside {}; the first is {}{}", folder.string(), counted(count, "entry"),
                     train.path().filename().string(), printable(first), advice);
}

}  // namespace

ImageList split_off_test_images(ImageList& list, double fraction, DataUse use) {
  std::vector<int> labels;
  std::vector<std::uint64_t> keys;
  for (const ImageList::File& file : list.files) {
    labels.push_back(file.label);
    keys.push_back(key_of(list, file));
  }
  const std::vector<bool> is_test = held_out(labels, keys, fraction);
  ImageList test{
      .folder = list.folder, .archives = list.archives, .classes = list.classes, .has_table = list.has_table};
  std::vector<ImageList::File> train;
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    (is_test[i] ? test.files : train).push_back(std::move(list.files[i]));
  }
  if (test.files.empty()) {
    throw Error(Category::data,
                fmt::format("{}: a test fraction of {} of {} leaves none to test{}", list.place(), fraction,
                            counted(train.size(), "image"), without_test_advice(use)));
  }
  list.files = std::move(train);
  return test;
}

std::filesystem::path find_image_part(const std::filesystem::path& folder, Part part) {
  if (file_kind(folder) != FileKind::folder) return {};
  return find_part_place(folder, part).path();
}

ImageParts list_image_parts(const std::filesystem::path& place, double test_fraction, DataUse use) {
  Parts<PartPlace> places = find_places(place, use);
  test_fraction = test_share(places.test.path(), test_fraction, use);
  if (use == DataUse::training) check_tested(place, places, test_fraction);
  const bool has_parts = file_kind(place) == FileKind::folder && !places.train.empty();
  if (places.train.empty()) places.train.folder = place;
  ImageParts parts{.train = list(places.train), .validation = {}, .test = {}};
  if (has_parts) parts.train.warning_of_others = text_of_others(place, places.train);
  if (use == DataUse::training) check_several_classes(parts.train.place(), parts.train.classes);
  if (!places.validation.empty()) {
    parts.validation = list(places.validation, parts.train.classes);
    parts.validation_origin = parts.validation->place();
  }
  if (!places.test.empty()) {
    parts.test = list(places.test, parts.train.classes);
    parts.test_origin = parts.test->place();
  } else if (test_fraction > 0.0) {
    parts.test = split_off_test_images(parts.train, test_fraction, use);
    parts.test_origin = origin_of_fraction(test_fraction);
  }
  return parts;
}

}  // namespace lockstep
