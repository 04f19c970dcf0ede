#include "core/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "core/files/folder.h"
#include "core/files/temporary_name.h"
#include "lockstep/error.h"

namespace lockstep {

AtomicFile::AtomicFile(const std::filesystem::path& file) : file_(file) {
  const FileKind kind = file_kind(file);
  if (kind == FileKind::folder) {
    throw Error(Category::resource, fmt::format("{}: is a folder, not a file", file.string()));
  }
  if (kind == FileKind::other) {
    throw Error(Category::resource, fmt::format("{}: is not a regular file", file.string()));
  }
  // O_EXCL refuses existing names, symbolic links among them.
  const bool created = with_temporary_name(file_, [&](const std::filesystem::path& name) {
    temporary_ = name;
    descriptor_ = FileDescriptor::open(name, O_WRONLY | O_CREAT | O_EXCL);
    return descriptor_.get() >= 0;
  });
  if (!created) fail("create a file beside it");
}

AtomicFile::~AtomicFile() {
  if (!committed_) files().unlink(temporary_);
}

void AtomicFile::fail(const char* action) const {
  const int reason = errno;
  throw Error(Category::resource, fmt::format("{}: cannot {}: {}", file_.string(), action,
                                              std::generic_category().message(reason)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (!write_fully(descriptor_, bytes)) fail("write");
  size_ += bytes.size();
  digest_.update(bytes);
}

void AtomicFile::commit(const CommitOptions& options) {
  if (!retry_interrupted([&] { return files().fsync(descriptor_.get()); })) fail("sync");
  if (options.read_back) files().drop_cache(descriptor_.get());
  if (files().close(descriptor_.release()) != 0 && errno != EINTR) fail("close");
  if (options.read_back) read_back();
  if (files().rename(temporary_, file_) != 0) fail("replace the old one");
  committed_ = true;
  sync_folder(folder_of(file_));
}

void AtomicFile::read_back() {
  constexpr std::uint64_t max_part = std::uint64_t{1} << 20;
  const InputFile input(temporary_);
  std::vector<std::byte> part(static_cast<std::size_t>(std::min(size_, max_part)));
  Digest found;
  for (std::uint64_t at = 0; at < input.size() && input.size() == size_; at += part.size()) {
    part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), size_ - at)));
    input.read(at, part);
    found.update(part);
  }
  if (input.size() != size_ || found.words() != digest_.words()) {
    throw Error(Category::resource,
                fmt::format("{}: the disk returns other bytes than were written: check the disk, or write to "
                            "another one",
                            file_.string()));
  }
}

void write_text_file(const std::filesystem::path& file, std::string_view text, const CommitOptions& options) {
  AtomicFile output(file);
  output.write(std::as_bytes(std::span(text)));
  output.commit(options);
}

}  // namespace lockstep
