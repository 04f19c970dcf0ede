#include "core/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "lockstep/error.h"

namespace lockstep {

AtomicFile::AtomicFile(const std::filesystem::path& file) : file_(file) {
  if (file.empty()) throw Error(Category::resource, "cannot write a file whose name is empty");
  const FileKind kind = file_kind(file);
  if (kind == FileKind::folder) refuse_file(file, "is a folder, not a file", Category::resource);
  if (kind == FileKind::other) refuse_file(file, "is not a regular file", Category::resource);
  const std::string own_name = file.filename().string();
  remove_leftovers(folder_of(file), [&](std::string_view name) { return name == own_name; });
  if (!with_temporary_name(file_, [this](const std::filesystem::path& name) { return create(name); })) {
    fail_file(file_, "create a file beside it");
  }
}

/// Creates and locks the temporary file. On failure returns false with errno, which is EEXIST if another
/// process removes the file as a leftover before it is locked.
bool AtomicFile::create(const std::filesystem::path& name) {
  temporary_ = name;
  // O_EXCL refuses existing names, including symbolic links.
  descriptor_ = FileDescriptor::open(name, O_RDWR | O_CREAT | O_EXCL);
  if (descriptor_.get() < 0) return false;
  FileStatus status;
  const bool is_being_removed =
      uninterrupted([this] { return files().lock(descriptor_.get()); }) != 0 && errno == EWOULDBLOCK;
  if (!is_being_removed && (files().stat(name, status) == 0 || errno != ENOENT)) return true;
  errno = EEXIST;
  return false;
}

AtomicFile::~AtomicFile() {
  if (!committed_) files().unlink(temporary_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (!write_fully(descriptor_, bytes)) fail_file(file_, "write");
  size_ += bytes.size();
  digest_.update(bytes);
}

void AtomicFile::commit() {
  sync();
  replace();
}

void AtomicFile::verify_and_commit() {
  sync();
  read_back();
  replace();
}

void AtomicFile::sync() {
  if (uninterrupted([&] { return files().fsync(descriptor_.get()); }) != 0) fail_file(file_, "sync");
}

void AtomicFile::replace() {
  if (files().rename(temporary_, file_) != 0) fail_file(file_, "replace the old one");
  committed_ = true;
  descriptor_ = {};  // closed only now, because closing releases the lock
  sync_folder(folder_of(file_));
}

void AtomicFile::read_back() {
  constexpr std::size_t max_part = std::size_t{1} << 20;
  files().drop_cache(descriptor_.get());
  std::vector<std::byte> part(std::clamp<std::uint64_t>(size_, 1, max_part));
  Digest found;
  std::uint64_t at = 0;
  for (ssize_t count = -1; count != 0;) {
    count = uninterrupted([&] { return files().pread(descriptor_.get(), part.data(), part.size(), at); });
    if (count < 0) fail_file(file_, "read back");
    found.update(std::span<const std::byte>(part).first(static_cast<std::size_t>(count)));
    at += static_cast<std::uint64_t>(count);
  }
  if (found.words() != digest_.words()) {
    refuse_file(file_,
                "the disk returns other bytes than were written: check the disk, or write to another one",
                Category::resource);
  }
}

void write_text_file(const std::filesystem::path& file, std::string_view text) {
  AtomicFile output(file);
  output.write(std::as_bytes(std::span(text)));
  output.commit();
}

void remove_leftovers(const std::filesystem::path& folder,
                      const std::function<bool(std::string_view name)>& owns) {
  std::vector<std::string> names;
  if (files().list(folder, names) != 0) return;
  for (const std::string& name : names) {
    const std::string_view written = without_temporary_ending(name);
    if (written.empty() || !owns(written) || !is_file(folder / name)) continue;
    const FileDescriptor file = FileDescriptor::open(folder / name, O_RDWR | O_NOFOLLOW);
    if (file.get() >= 0 && files().lock(file.get()) == 0) files().unlink(folder / name);
  }
}

}  // namespace lockstep
