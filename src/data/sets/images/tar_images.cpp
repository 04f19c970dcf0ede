#include "data/sets/images/tar_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/files/file.h"
#include "core/text/printable.h"
#include "data/files/csv_table.h"
#include "data/files/tar_index.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Entry of an archive, whose name is split into a key and an extension: "./cat/0001.seg.png" has the key
/// "cat/0001" and the extension "seg.png".
struct Member {
  TarEntry entry;
  std::size_t key_length = 0;

  std::string_view key() const { return std::string_view(entry.name).substr(0, key_length); }
  std::string_view extension() const {
    return std::string_view(entry.name).substr(std::min(key_length + 1, entry.name.size()));
  }
  /// Name of the folder that contains the entry; empty if there is none.
  std::string folder() const { return std::filesystem::path(entry.name).parent_path().filename().string(); }
  /// Whether a component of the name begins with a dot.
  bool hidden() const { return entry.name.starts_with('.') || entry.name.find("/.") != std::string::npos; }
};

/// Normalises the entry's name: "./cat/1.jpg", "cat/./1.jpg", "/cat/1.jpg" and "../cat/1.jpg" all become
/// "cat/1.jpg".
Member member_of(TarEntry entry) {
  entry.name = std::filesystem::path("/" + entry.name).lexically_normal().relative_path().string();
  const std::size_t slash = entry.name.rfind('/');
  const std::size_t dot = entry.name.find('.', slash == std::string::npos ? 0 : slash + 1);
  const std::size_t key_length = std::min(dot, entry.name.size());
  return {.entry = std::move(entry), .key_length = key_length};
}

/// Entries of an archive that are not hidden, sorted by key, then by extension.
std::vector<Member> list_members(const InputFile& file, const std::filesystem::path& path) {
  std::vector<Member> members;
  const TarSource source{
      .name = path.string(), .size = file.size(), .read = [&](auto at, auto bytes) { file.read(at, bytes); }};
  for (TarEntry& entry : list_tar(source)) {
    Member member = member_of(std::move(entry));
    if (!member.hidden()) members.push_back(std::move(member));
  }
  std::ranges::stable_sort(members, {}, [](const Member& m) { return std::pair(m.key(), m.extension()); });
  return members;
}

/// Calls `take` with the members of each sample, which have the same key.
template <class Take>
void for_each_sample(std::span<const Member> members, const Take& take) {
  while (!members.empty()) {
    const auto is_other = [&](const Member& m) { return m.key() != members.front().key(); };
    const auto end = std::ranges::find_if(members, is_other);
    const auto count = static_cast<std::size_t>(end - members.begin());
    take(members.first(count));
    members = members.subspan(count);
  }
}

/// Entry with the class of a sample, or null.
const Member* find_label(std::span<const Member> sample) {
  const auto label = std::ranges::find(sample, std::string_view("cls"), &Member::extension);
  return label == sample.end() ? nullptr : &*label;
}

bool is_image(const Member& member, bool has_label) {
  const bool is_whole_extension = member.extension().find('.') == std::string_view::npos;
  return is_image_name(member.entry.name) && (!has_label || is_whole_extension);
}

/// Collects the images of archives, and the texts of their classes.
class Lister {
 public:
  void add(const std::filesystem::path& path) {
    const InputFile file(path);
    place_ = path.string();
    archive_ = static_cast<std::uint32_t>(list.archives.size());
    list.archives.push_back(path);
    const std::vector<Member> members = list_members(file, path);
    for_each_sample(members, [&](std::span<const Member> sample) { add_sample(file, sample); });
  }
  /// Returns the list. `classes`: allowed classes; if empty, all classes that occur.
  ImageList finish(const std::vector<std::string>& classes) {
    if (list.files.empty()) throw Error(Category::data, fmt::format("{}: no images there", list.place()));
    list.classes = classes.empty() ? all_classes() : classes;
    std::unordered_map<std::string_view, int> numbers;
    for (const std::string& name : list.classes) numbers.emplace(name, static_cast<int>(numbers.size()));
    for (std::size_t i = 0; i < list.files.size(); ++i) {
      const auto known = numbers.find(class_texts_[i]);
      if (known == numbers.end()) {
        fail(list.files[i], fmt::format("the training images have no class {}", in_quotes(class_texts_[i])));
      }
      list.files[i].label = known->second;
    }
    std::ranges::sort(list.files, {}, [](const ImageList::File& file) {
      return std::tuple(file.label, std::string_view(file.name), file.archive, file.offset);
    });
    return std::move(list);
  }

  ImageList list;

 private:
  [[noreturn]] void fail(const ImageList::File& file, const std::string& reason) const {
    throw Error(Category::data, fmt::format("{}: {} at byte {}: {}", list.archives[file.archive].string(),
                                            printable(file.name), file.offset, reason));
  }
  [[noreturn]] void fail(const Member& member, const std::string& reason) const {
    fail({.name = member.entry.name, .archive = archive_, .offset = member.entry.offset}, reason);
  }

  void add_sample(const InputFile& file, std::span<const Member> members) {
    const auto again = std::ranges::adjacent_find(members, {}, &Member::extension);
    if (again != members.end()) fail(*(again + 1), "the archive contains this name twice");
    const Member* const label = find_label(members);
    const Member* image = nullptr;
    for (const Member& member : members) {
      if (!is_image(member, label != nullptr)) {
        if (label == nullptr) note_skipped(list, member.entry.name);
        continue;
      }
      if (!member.entry.is_file) fail(member, unreadable_tar_entry);
      if (label == nullptr) {
        add_image(member, member.folder(), false);
      } else if (image != nullptr) {
        fail(member, fmt::format("a second image of its sample, beside {}", printable(image->entry.name)));
      }
      image = &member;
    }
    if (label == nullptr) return;
    if (image == nullptr) {
      note_skipped(list, label->entry.name);
    } else {
      add_image(*image, class_text(file, *label), true);
    }
  }
  void add_image(const Member& member, std::string class_text, bool is_text) {
    if (class_text.empty()) {
      fail(member, fmt::format("the image has no class: neither a file {}.cls nor a folder named after it",
                               printable(member.key())));
    }
    check_class_name(class_text, place_);
    from_folders_ = from_folders_ || !is_text;
    class_texts_.push_back(std::move(class_text));
    list.files.push_back({.name = member.entry.name,
                          .archive = archive_,
                          .offset = member.entry.offset,
                          .size = member.entry.size});
  }
  /// Text of an entry .cls, without surrounding spaces and line ends.
  std::string class_text(const InputFile& file, const Member& member) const {
    constexpr std::uint64_t longest = 1000;
    if (!member.entry.is_file || member.entry.size > longest)
      fail(member, "is not the number or name of a class");
    std::string text(static_cast<std::size_t>(member.entry.size), '\0');
    file.read(member.entry.offset, std::as_writable_bytes(std::span(text)));
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) fail(member, "is empty: the number or name of a class is missing");
    return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
  }
  std::vector<std::string> all_classes() const {
    if (!from_folders_) return sorted_classes(class_texts_);
    const std::set<std::string> names(class_texts_.begin(), class_texts_.end());
    return {names.begin(), names.end()};
  }

  std::string place_;                     ///< path of the archive that add() reads
  std::uint32_t archive_ = 0;             ///< index of this archive
  std::vector<std::string> class_texts_;  ///< [file] class, for each of list.files
  bool from_folders_ = false;             ///< whether any class is the name of a folder
};

}  // namespace

bool is_tar_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> extensions = {".tar",    ".tar.gz",  ".tgz",
                                                          ".tar.xz", ".tar.bz2", ".tar.zst"};
  return std::ranges::any_of(extensions,
                             [&](std::string_view extension) { return name.ends_with(extension); });
}

std::vector<TarEntry> images_in_tar(const std::filesystem::path& archive) {
  const InputFile file(archive);
  const std::vector<Member> members = list_members(file, archive);
  std::vector<TarEntry> images;
  for_each_sample(members, [&](std::span<const Member> sample) {
    const bool has_label = find_label(sample) != nullptr;
    for (const Member& member : sample) {
      if (is_image(member, has_label)) images.push_back(member.entry);
    }
  });
  if (images.empty()) throw Error(Category::data, fmt::format("{}: no images there", archive.string()));
  std::ranges::stable_sort(images, {}, &TarEntry::name);
  return images;
}

ImageList list_tar_images(const std::vector<std::filesystem::path>& archives,
                          const std::vector<std::string>& classes) {
  Lister lister;
  for (const std::filesystem::path& path : archives) lister.add(path);
  return lister.finish(classes);
}

}  // namespace lockstep
