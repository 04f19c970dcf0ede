#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/files/file.h"

namespace lockstep {

// Functions for folders, which use files(). Errors are Error(resource) with the path, the failed action and
// the system's reason, unless a function says otherwise.

/// Creates `folder` and its missing parents, all of which survive a crash of the machine. Does nothing if
/// `folder` exists.
void make_folder(const std::filesystem::path& folder);

/// Creates an empty folder next to `folder`, named FOLDER.XXXXXXXX.tmp with random digits, and returns its
/// path.
std::filesystem::path make_temporary_folder(const std::filesystem::path& folder);

/// Names of the folder's entries in ascending order; `folders` is as in FileSystem::list, also ascending.
/// Errors have the category of category_of_failure.
std::vector<std::string> list_folder(const std::filesystem::path& folder,
                                     std::vector<std::string>* folders = nullptr);

/// Files in `folder` and its subfolders, as paths relative to `folder`, depth-first in ascending order of
/// names. Entries whose names begin with a dot are left out. Links are followed, except to a folder that
/// contains them. Entries that cannot be accessed count as files. Throws as list_folder does.
std::vector<std::filesystem::path> list_tree(const std::filesystem::path& folder);

/// Renames a folder or a file; a file replaces an existing one. The folder `to` must be missing or empty, and
/// in the same parent folder. The new name survives a crash of the machine once this returns.
void rename_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a folder with its contents, or a file, if it exists; symbolic links are removed, not followed.
/// Until the parent folder is synced, a crash of the machine may restore part of it.
void remove_folder(const std::filesystem::path& folder);

/// Opens a folder. On failure, the result owns no descriptor and errno is set.
FileDescriptor open_folder(const std::filesystem::path& folder);

/// Makes names that were created, changed or removed in `folder` survive a crash of the machine. Does nothing
/// on file systems without support for it, and in folders that this process may not list.
void sync_folder(const std::filesystem::path& folder);

/// Makes the bytes and the name of a file survive a crash of the machine. Returns whether it succeeded; does
/// not throw.
bool sync_file(const std::filesystem::path& file);

/// Folder that contains `path`; "." if `path` is only a name.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Whether `path`, or the first of its parents that exists, is the folder `outer` or lies in it. Links are
/// followed. False if that cannot be determined.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& outer);

}  // namespace lockstep
