#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lockstep/error.h"
#include "record/record.h"

namespace lockstep::check {
namespace {

bool write_fully(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Opens a file, applies `use` to the descriptor, syncs and closes it.
template <class Use>
bool with_synced(const std::filesystem::path& path, int flags, const Use& use) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  const bool synced = use(descriptor) && fsync(descriptor) == 0;
  return close(descriptor) == 0 && synced;
}

}  // namespace

void replace_file(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::path temporary = file;
  temporary += ".tmp";
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const bool replaced = with_synced(temporary, O_WRONLY | O_CREAT | O_TRUNC,
                                    [&](int descriptor) { return write_fully(descriptor, text); }) &&
                        std::rename(temporary.c_str(), file.c_str()) == 0 &&
                        with_synced(folder, O_RDONLY | O_DIRECTORY, [](int) { return true; });
  if (!replaced)
    throw Error(Category::resource, "cannot write " + file.string() + ": " + std::strerror(errno));
}

}  // namespace lockstep::check
