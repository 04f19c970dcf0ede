#include "core/files/folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/files/temporary_name.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;

/// Appends the files below `root`/`inner`. `outer`: folders that contain `inner`, to which links are not
/// followed.
void add_tree(const Path& root, const Path& inner, std::vector<FileStatus>& outer, std::vector<Path>& paths) {
  const Path folder = inner.empty() ? root : root / inner;
  FileStatus status;
  files().stat(folder, status);
  if (std::ranges::any_of(outer, [&](const FileStatus& other) { return other.is_same_file(status); })) return;
  outer.push_back(status);
  for (const std::string& name : list_folder(folder)) {
    if (name.starts_with('.')) continue;
    if (is_folder(folder / name)) {
      add_tree(root, inner / name, outer, paths);
    } else {
      paths.push_back(inner / name);
    }
  }
  outer.pop_back();
}

/// `path` without a trailing separator, which std::filesystem would treat as an empty file name.
Path without_final_separator(const Path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

}  // namespace

std::filesystem::path folder_of(const Path& path) {
  const Path parent = without_final_separator(path).parent_path();
  return parent.empty() ? Path(".") : parent;
}

bool lies_in(const Path& path, const Path& outer) {
  FileStatus goal, place, parent;
  if (files().stat(outer, goal) != 0) return false;
  Path inner = path.lexically_normal();
  while (files().stat(inner, place) != 0) {
    if (inner == folder_of(inner)) return false;
    inner = folder_of(inner);
  }
  while (!place.is_same_file(goal)) {
    inner /= "..";
    if (files().stat(inner, parent) != 0 || parent.is_same_file(place))
      return false;  // the root is its own parent
    place = parent;
  }
  return true;
}

void make_folder(const Path& folder) {
  const Path path = without_final_separator(folder);
  FileStatus status;
  if (path.empty() || (files().stat(path, status) == 0 && status.kind == FileKind::folder)) return;
  if (status.kind != FileKind::missing) errno = EEXIST;
  if (errno != ENOENT) fail_file(path, "create the folder");
  const Path parent = folder_of(path);
  if (parent != path) make_folder(parent);
  // Another process may create the folder at the same time.
  if (files().mkdir(path) != 0 && errno != EEXIST) fail_file(path, "create the folder");
  try {
    sync_folder(parent);
  } catch (const Error&) {
    files().rmdir(path);  // otherwise the next attempt would find the folder and not sync
    throw;
  }
}

Path make_temporary_folder(const Path& folder) {
  const Path path = without_final_separator(folder);
  Path made;
  if (!with_temporary_name(path, [&](const Path& name) { return files().mkdir(made = name) == 0; })) {
    fail_file(path, "create a folder beside it");
  }
  return made;
}

std::vector<std::string> list_folder(const Path& folder, std::vector<std::string>* folders) {
  std::vector<std::string> names;
  if (files().list(folder, names, folders) != 0) fail_file(folder, "list", category_of_failure(errno));
  std::ranges::sort(names);
  if (folders != nullptr) std::ranges::sort(*folders);
  return names;
}

std::vector<Path> list_tree(const Path& folder) {
  std::vector<FileStatus> outer;
  std::vector<Path> paths;
  add_tree(folder, {}, outer, paths);
  return paths;
}

void rename_folder(const Path& from, const Path& to) {
  if (files().rename(from, to) != 0) fail_file(from, fmt::format("rename to {}", to.filename().string()));
  sync_folder(folder_of(to));
}

void remove_folder(const Path& folder) {
  if (files().unlink(folder) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) fail_file(folder, "remove");  // POSIX specifies EPERM for a folder
  const int reason = errno;
  FileStatus status;
  if (files().stat(folder, status) != 0) fail_file(folder, "remove");
  if (status.kind != FileKind::folder) {
    errno = reason;
    fail_file(folder, "remove");
  }
  for (const std::string& name : list_folder(folder)) remove_folder(folder / name);
  if (files().rmdir(folder) != 0 && errno != ENOENT) fail_file(folder, "remove");
}

FileDescriptor open_folder(const Path& folder) {
  return FileDescriptor::open(folder, O_RDONLY | O_DIRECTORY);
}

void sync_folder(const Path& folder) {
  const FileDescriptor descriptor = open_folder(folder);
  if (descriptor.get() < 0) {
    if (errno == EACCES) return;
    fail_file(folder, "open");
  }
  if (uninterrupted([&] { return files().fsync(descriptor.get()); }) != 0 && errno != EINVAL &&
      errno != ENOTSUP && errno != ENOSYS) {
    fail_file(folder, "sync");
  }
}

bool sync_file(const Path& file) {
  if (!is_file(file)) return false;
  const FileDescriptor descriptor = FileDescriptor::open(file, O_RDONLY);
  if (descriptor.get() < 0 || uninterrupted([&] { return files().fsync(descriptor.get()); }) != 0) {
    return false;
  }
  try {
    sync_folder(folder_of(file));
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace lockstep
