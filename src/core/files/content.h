#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

/// Kind of a file's contents for messages, by its first bytes: "a JPEG image", "a zip archive", "a text
/// file". Empty: unknown, as of a safetensors file.
std::string content_kind(std::span<const std::byte> file);

/// Format of an image file, by its first bytes.
enum class ImageFormat { none, jpeg, png, webp };
ImageFormat image_format(std::span<const std::byte> file);

/// content_kind() of a file that is not text; empty for texts, too.
std::string binary_kind(std::span<const std::byte> file);

}  // namespace lockstep
