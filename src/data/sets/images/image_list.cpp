#include "data/sets/images/image_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep {

std::string ImageList::place() const {
  if (archives.empty()) return folder.string();
  if (archives.size() == 1) return archives[0].string();
  return fmt::format("{} and {} more", archives[0].string(), archives.size() - 1);
}

bool is_image_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> extensions = {".jpg", ".jpeg", ".png", ".webp"};
  const std::string extension = in_small_letters(std::filesystem::path(name).extension().string());
  return std::ranges::find(extensions, extension) != extensions.end();
}

void note_skipped(ImageList& list, const std::string& name) {
  if (list.skipped_files++ == 0) list.first_skipped_file = name;
}

void check_class_name(const std::string& name, const std::string& place) {
  if (!has_control_characters(name)) return;
  throw Error(Category::data,
              fmt::format("{}: class '{}' has control characters in its name", place, printable(name)));
}

void check_several_classes(const std::filesystem::path& place, const std::vector<std::string>& classes) {
  if (classes.size() != 1) return;
  throw Error(Category::data, fmt::format("{}: only one class, '{}', in all training images", place.string(),
                                          printable(classes[0])));
}

std::vector<std::string> warnings_of(const ImageList& list) {
  std::vector<std::string> lines;
  if (!list.warning_of_others.empty()) lines.push_back(list.warning_of_others);
  if (list.skipped_files == 0) return lines;
  lines.push_back(fmt::format("{}: {} skipped, not CLASS/NAME{}; the first is {}", list.place(),
                              counted(list.skipped_files, "entry"), image_endings,
                              printable(list.first_skipped_file)));
  return lines;
}

}  // namespace lockstep
