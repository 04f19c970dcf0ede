#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

/// Kind of a file's contents for messages, determined from its first bytes: "a JPEG image", "a zip archive",
/// "a text file". Empty if unknown, as for a safetensors file.
std::string content_kind(std::span<const std::byte> file);

/// Format of an image file, determined from its first bytes.
enum class ImageFormat { none, jpeg, png, webp };
ImageFormat image_format(std::span<const std::byte> file);

/// content_kind() of a binary file; empty for a text file.
std::string binary_kind(std::span<const std::byte> file);

}  // namespace lockstep
