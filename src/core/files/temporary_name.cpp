#include "core/files/temporary_name.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace lockstep {

bool with_temporary_name(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& create) {
  constexpr int max_attempts = 100;
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    std::uint32_t name = 0;
    if (::getrandom(&name, sizeof name, 0) != sizeof name) return false;
    if (create(fmt::format("{}.{:08x}.tmp", path.string(), name))) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

std::filesystem::path random_name(const std::filesystem::path& path, const char* ending) {
  std::filesystem::path result;
  with_temporary_name(path, [&](const std::filesystem::path& name) {
    result = name;
    result.replace_extension(ending);
    return true;
  });
  return result;
}

bool is_random_ending(std::string_view text, std::string_view ending) {
  constexpr std::size_t digits = 8;
  return text.size() == 1 + digits + ending.size() && text.starts_with('.') && text.ends_with(ending) &&
         text.substr(1, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view without_temporary_ending(std::string_view name) {
  const std::size_t length = name.size() - std::min(name.size(), std::string_view(".XXXXXXXX.tmp").size());
  return is_random_ending(name.substr(length), ".tmp") ? name.substr(0, length) : std::string_view();
}

}  // namespace lockstep
