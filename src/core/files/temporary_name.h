#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace lockstep {

/// Calls `create` with a random name PATH.XXXXXXXX.tmp, and retries with other names while `create` returns
/// false with errno EEXIST. Returns whether `create` succeeded; if not, errno has the reason.
bool with_temporary_name(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& create);

/// PATH.XXXXXXXX followed by `ending`, with random hexadecimal digits. Does not check whether the path
/// exists.
std::filesystem::path random_name(const std::filesystem::path& path, const char* ending);

/// Whether `text` is ".XXXXXXXX", with hexadecimal digits, followed by `ending`.
bool is_random_ending(std::string_view text, std::string_view ending);

/// NAME if `name` is NAME.XXXXXXXX.tmp, else empty.
std::string_view without_temporary_ending(std::string_view name);

}  // namespace lockstep
