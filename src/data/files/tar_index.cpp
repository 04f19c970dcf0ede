#include "data/files/tar_index.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "core/files/content.h"
#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t block_bytes = 512;  // of a tar archive

std::uint64_t whole_blocks(std::uint64_t bytes) {
  return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

[[noreturn]] void fail(const TarSource& source, std::uint64_t byte, const std::string& reason) {
  throw Error(Category::data, fmt::format("{}: byte {}: {}", source.name, byte, reason));
}

/// First block of the file, from which content_kind determines the file's kind.
std::vector<std::byte> start_of(const TarSource& source) {
  std::vector<std::byte> start(static_cast<std::size_t>(std::min(source.size, block_bytes)));
  source.read(0, start);
  return start;
}

/// Sets a locale of this thread in which libarchive leaves UTF-8 names unchanged.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

/// Reads the headers of a source with libarchive, skipping the rest.
class Reader {
 public:
  explicit Reader(const TarSource& source) : source_(source), archive_(archive_read_new()) {
    if (!archive_)
      throw Error(Category::resource, fmt::format("{}: not enough memory to read it", source.name));
    archive_read_support_format_tar(archive_.get());
    archive_read_set_read_callback(archive_.get(), read);
    archive_read_set_skip_callback(archive_.get(), skip);
    archive_read_set_callback_data(archive_.get(), this);
    check(archive_read_open1(archive_.get()));
  }

  /// Returns the next entry, or null at the end.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return nullptr;
    check(status);
    header();
    return entry;
  }
  /// Position of the header of the entry that next() returned last, or of the archive's end. If libarchive
  /// does not know that position, the last known one.
  std::uint64_t header() {
    const la_int64_t position = archive_read_header_position(archive_.get());
    if (position >= 0) header_ = static_cast<std::uint64_t>(position);
    return header_;
  }

 private:
  struct Free {
    void operator()(archive* value) const { archive_read_free(value); }
  };

  /// Throws unless `status` is success or a warning.
  void check(int status) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return;
    const char* text = archive_error_string(archive_.get());
    const bool memory = archive_errno(archive_.get()) == ENOMEM;
    if (memory)
      throw Error(Category::resource, fmt::format("{}: not enough memory to read it", source_.name));
    const std::string kind = content_kind(start_of(source_));
    if (header() == 0 && !kind.empty() && kind != "a tar archive") {
      throw Error(Category::data, fmt::format("{}: {}, not a tar archive", source_.name, kind));
    }
    fail(source_, header(),
         fmt::format("is not a readable tar archive: {}", text == nullptr ? "damaged" : printable(text)));
  }

  static la_ssize_t read(archive* /*archive*/, void* data, const void** buffer) {
    auto& self = *static_cast<Reader*>(data);
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(self.window_.size(), self.source_.size - self.at_));
    *buffer = self.window_.data();
    try {
      self.source_.read(self.at_, std::span(self.window_).first(count));
    } catch (...) {  // exceptions must not pass through libarchive
      self.failure_ = std::current_exception();
      return ARCHIVE_FATAL;
    }
    self.at_ += count;
    return static_cast<la_ssize_t>(count);
  }
  static la_int64_t skip(archive* /*archive*/, void* data, la_int64_t request) {
    auto& self = *static_cast<Reader*>(data);
    const auto count =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(request), self.source_.size - self.at_);
    self.at_ += count;
    return static_cast<la_int64_t>(count);
  }

  const TarSource& source_;
  std::array<std::byte, 8 * block_bytes> window_{};
  std::uint64_t at_ = 0;  ///< offset in the source at which libarchive reads next
  std::uint64_t header_ = 0;
  std::exception_ptr failure_;
  std::unique_ptr<archive, Free> archive_;
};

/// Throws for a compressed archive, whose files cannot be read one by one.
void check_uncompressed(const TarSource& source) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> programs = {
      {{"a gzip file", "gunzip"},
       {"a zstd file", "unzstd"},
       {"an xz file", "unxz"},
       {"a bzip2 file", "bunzip2"}}};
  const std::string found = content_kind(start_of(source));
  for (const auto& [kind, program] : programs) {
    if (found != kind) continue;
    throw Error(
        Category::data,
        fmt::format("{}: is compressed, and its files cannot be read one by one: unpack it ({}); images "
                    "hardly become smaller",
                    source.name, program));
  }
}

/// Checks that the archive ends at `end` with a block of zeros, and that no other archive follows it.
void check_end(const TarSource& source, std::uint64_t end) {
  constexpr std::uint64_t padding = std::uint64_t{1} << 20;  // archives are padded to blocks of 10 kB
  if (end + block_bytes > source.size)
    fail(source, source.size, "the tar archive is cut off: its end is missing");
  std::vector<std::byte> rest(static_cast<std::size_t>(std::min(source.size - end, padding)));
  source.read(end, rest);
  const auto other = std::ranges::find_if(rest, [](std::byte value) { return value != std::byte{0}; });
  if (other == rest.end()) return;
  fail(source, end + static_cast<std::uint64_t>(other - rest.begin()),
       "bytes after the end of the tar archive, perhaps another one, which would not be read");
}

std::string name_of(archive_entry* entry) {
  for (const char* name : {archive_entry_pathname(entry), archive_entry_pathname_utf8(entry)}) {
    if (name != nullptr) return name;
  }
  return {};
}

}  // namespace

std::vector<TarEntry> list_tar(const TarSource& source) {
  check_uncompressed(source);
  const Utf8Locale locale;
  Reader reader(source);
  std::vector<TarEntry> entries;
  // An entry's bytes, padded to whole blocks, end where the next header begins.
  bool pending = false;
  const auto finish_pending = [&] {
    if (!std::exchange(pending, false)) return;
    TarEntry& entry = entries.back();
    entry.offset = reader.header() - whole_blocks(entry.size);
    if (entry.size > source.size || entry.offset > source.size - entry.size) {
      fail(source, source.size, fmt::format("the tar archive is cut off in {}", in_quotes(entry.name)));
    }
  };
  while (archive_entry* entry = reader.next()) {
    finish_pending();
    if (archive_entry_filetype(entry) == AE_IFDIR) continue;
    const std::string name = name_of(entry);
    if (name.empty()) fail(source, reader.header(), "an entry without a readable name");
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG &&
                         archive_entry_hardlink(entry) == nullptr && archive_entry_sparse_count(entry) == 0;
    entries.push_back({.name = name,
                       .offset = reader.header(),
                       .size = is_file ? static_cast<std::uint64_t>(archive_entry_size(entry)) : 0,
                       .is_file = is_file});
    pending = is_file;
  }
  finish_pending();
  check_end(source, reader.header());
  return entries;
}

}  // namespace lockstep
