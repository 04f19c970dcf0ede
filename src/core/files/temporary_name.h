#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace lockstep {

/// Calls `create` with PATH.XXXXXXXX.tmp, a random name in the folder of `path`, and with other names while
/// it returns false with errno EEXIST. Returns whether it succeeded; otherwise errno has the reason.
bool with_temporary_name(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& create);

/// PATH.XXXXXXXX and `ending`, with random hexadecimal digits. Does not look whether it exists.
std::filesystem::path random_name(const std::filesystem::path& path, const char* ending);

/// Whether `text` is ".XXXXXXXX", as in these names, and `ending`.
bool is_random_ending(std::string_view text, std::string_view ending);

/// NAME of a name NAME.XXXXXXXX.tmp; empty: `name` is not of this kind.
std::string_view without_temporary_ending(std::string_view name);

}  // namespace lockstep
