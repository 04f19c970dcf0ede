#pragma once

#include <filesystem>
#include <functional>

namespace lockstep {

/// Calls `create` with a path beside `path`, PATH.XXXXXXXX.tmp with a random name, and again with another one
/// while it returns false with errno EEXIST. Returns whether it succeeded; otherwise errno says why not.
bool with_temporary_name(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& create);

}  // namespace lockstep
