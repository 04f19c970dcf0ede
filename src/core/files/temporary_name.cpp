#include "core/files/temporary_name.h"

#include <fmt/format.h>
#include <sys/random.h>

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

std::string_view without_temporary_ending(std::string_view name) {
  constexpr std::string_view pattern = ".XXXXXXXX.tmp";
  if (name.size() <= pattern.size() || !name.ends_with(".tmp")) return {};
  const std::string_view ending = name.substr(name.size() - pattern.size());
  const bool is_random = ending.substr(1, 8).find_first_not_of("0123456789abcdef") == std::string_view::npos;
  name.remove_suffix(pattern.size());
  return ending.starts_with('.') && is_random ? name : std::string_view();
}

}  // namespace lockstep
