#include "data/sets/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/files/file_system.h"
#include "data/sets/subset.h"
#include "lockstep/error.h"

namespace lockstep {

std::span<const std::string_view> names_of(Part part) {
  static constexpr std::array<std::string_view, 1> train = {"train"};
  static constexpr std::array<std::string_view, 3> validation = {"validation", "valid", "val"};
  static constexpr std::array<std::string_view, 1> test = {"test"};
  if (part == Part::train) return train;
  if (part == Part::test) return test;
  return validation;
}

std::string class_name_advice(const std::filesystem::path& folder) {
  const std::string name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  for (const Part part : all_parts) {
    const auto names = names_of(part);
    if (std::ranges::find(names, name) == names.end()) continue;
    return fmt::format("; {} is taken for the {} part: if it is a class, rename the folder", name,
                       part == Part::train ? "training" : names[0]);
  }
  return {};
}

void fail_two_parts(const std::filesystem::path& folder, const std::filesystem::path& one,
                    const std::filesystem::path& other) {
  throw Error(Category::data,
              fmt::format("{}: both {} and {} are there, for the same part of the data: keep one",
                          folder.string(), one.filename().string(), other.filename().string()));
}

std::filesystem::path find_part(const std::filesystem::path& folder, Part part, std::string_view extension) {
  std::filesystem::path found;
  for (const std::string_view name : names_of(part)) {
    const std::filesystem::path path = folder / fmt::format("{}{}", name, extension);
    const FileKind kind = file_kind(path);
    if (extension.empty() ? kind != FileKind::folder : kind == FileKind::missing) continue;
    if (!found.empty()) fail_two_parts(folder, found, path);
    found = path;
  }
  return found;
}

double test_share(const std::filesystem::path& test, double fraction, DataUse use) {
  if (test.empty() || !(fraction > 0.0)) return fraction;
  if (use == DataUse::measuring) return 0.0;
  throw Error(Category::usage, fmt::format("has no effect, as {} exists: omit it", test.string()),
              "test-fraction");
}

std::string without_test_advice(DataUse use) {
  return use == DataUse::measuring ? "; --split all takes all samples" : "";
}

std::string origin_of_fraction(double fraction) { return fmt::format("test fraction {}", fraction); }

void complete_parts(DatasetPair& pair, const DatasetOptions& options, DataUse use) {
  const bool has_validation = pair.validation != nullptr;
  if (use == DataUse::training && has_validation && options.validation_fraction > 0.0) {
    throw Error(Category::usage, fmt::format("has no effect, as {} exists: omit it", pair.validation_origin),
                "validation-fraction");
  }
  if (!pair.test && has_validation) {
    pair.test = std::move(pair.validation);
    pair.test_origin = std::move(pair.validation_origin);
    pair.validation_origin.clear();
    pair.tests_on_validation = true;
  }
  if (!has_validation && options.validation_fraction > 0.0) {
    hold_out_validation(pair, options.validation_fraction);
    pair.validation_origin = fmt::format("validation fraction {}", options.validation_fraction);
  }
}

}  // namespace lockstep
