#include "core/files/content.h"

#include <algorithm>
#include <string_view>

#include "core/text/as_text.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  const char* kind;
};

constexpr Signature signatures[] = {
    {"GIF8"sv, "a GIF image"},
    {"\x1f\x8b"sv, "a gzip file"},
    {"BZh"sv, "a bzip2 file"},
    {"\xfd"
     "7zXZ"sv,
     "an xz file"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {"GGUF"sv, "a GGUF file"},
    {"%PDF"sv, "a PDF document"},
    {"\x7f"
     "ELF"sv,
     "a program"},
    {"\x80\x02"sv, "a file of torch.save"},  // before PyTorch 1.6: a pickle of protocol 2
    {"\x80\x03"sv, "a Python pickle"},
    {"\x80\x04"sv, "a Python pickle"},
    {"\x80\x05"sv, "a Python pickle"},
};

/// Whether `text` contains neither control characters, except tabs and line ends, nor bytes that UTF-8 never
/// uses.
bool is_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) return c == '\n' || c == '\r' || c == '\t';
    return byte != 0x7f && byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
  });
}

std::string text_kind(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \r\n\t");
  const char begin = first == std::string_view::npos ? ' ' : text[first];
  if (begin == '<') return "an HTML or XML page";
  if (begin == '{' || begin == '[') return "a JSON text";
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.find_first_of(",;\t") != std::string_view::npos ? "a table of text" : "a text file";
}

std::string_view first_bytes(std::span<const std::byte> file) { return as_text(file).substr(0, 1024); }

}  // namespace

ImageFormat image_format(std::span<const std::byte> file) {
  const std::string_view bytes = as_text(file);
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::jpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  // A size field separates the two words.
  const bool is_webp = bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP";
  return is_webp ? ImageFormat::webp : ImageFormat::none;
}

std::string content_kind(std::span<const std::byte> file) {
  const std::string_view bytes = first_bytes(file);
  if (bytes.empty()) return "an empty file";
  const ImageFormat image = image_format(file);
  if (image == ImageFormat::jpeg) return "a JPEG image";
  if (image == ImageFormat::png) return "a PNG image";
  if (image == ImageFormat::webp) return "a WebP image";
  for (const auto& [signature, kind] : signatures) {
    if (bytes.starts_with(signature)) return kind;
  }
  if (bytes.starts_with("PK\x03\x04")) {
    const bool is_torch = bytes.find("/data.pkl") != std::string_view::npos;
    return is_torch ? "a file of torch.save" : "a zip archive";
  }
  if (bytes.size() >= 262 && bytes.substr(257).starts_with("ustar")) return "a tar archive";
  // A protocol buffer whose first fields are ir_version and producer_name.
  if (bytes.size() > 2 && bytes[0] == '\x08' && bytes[1] < '\x20' && bytes[2] == '\x12') {
    return "an ONNX model";
  }
  return is_text(bytes) ? text_kind(bytes) : "";
}

std::string binary_kind(std::span<const std::byte> file) {
  return is_text(first_bytes(file)) ? "" : content_kind(file);
}

}  // namespace lockstep
