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

}  // namespace lockstep
