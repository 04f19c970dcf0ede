#include "core/files/content.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Content, IsKnownByItsFirstBytes) {
  const struct {
    std::string bytes;
    const char* kind;
  } rows[] = {
      {"", "an empty file"},
      {"\xff\xd8\xff\xe0 JFIF", "a JPEG image"},
      {"\x89PNG\r\n\x1a\n", "a PNG image"},
      {std::string("RIFF\x10\0\0\0WEBPVP8 ", 16), "a WebP image"},
      {"RIFF", "a text file"},
      {"PK\x03\x04", "a zip archive"},
      {std::string("PK\x03\x04\0\0\x08\x08 archive/data.pkl", 25), "a file of torch.save"},
      {"PK\x03\x04 mimetype", "a zip archive"},
      {"\x80\x02\x8a\x0al\xfc", "a file of torch.save"},
      {"\x80\x04\x95", "a Python pickle"},
      {"\x1f\x8b\x08", "a gzip file"},
      {"\x08\x08\x12\x07pytorch", "an ONNX model"},
      {std::string(257, '\0') + "ustar", "a tar archive"},
      {"<!DOCTYPE html>\n", "an HTML or XML page"},
      {"{\"layers\": [", "a JSON text"},
      {"a,b,label\n1,2,cat\n", "a table of text"},
      {"caf\xc3\xa9\n", "a text file"},
      {std::string("\x40\0\0\0\0\0\0\0{\"", 10), ""},
      {std::string("\x01\x02\x03", 3), ""},
  };
  for (const auto& [bytes, kind] : rows) {
    EXPECT_EQ(content_kind(std::as_bytes(std::span(bytes))), kind) << bytes;
  }
}

TEST(Content, TextsHaveNoBinaryKind) {
  const std::pair<std::string_view, std::string> rows[] = {{"\xff\xd8\xff\xe0 JFIF", "a JPEG image"},
                                                           {"BZh\x01", "a bzip2 file"},
                                                           {"BZh,label\n1,a\n", ""},
                                                           {"<!DOCTYPE html>\n", ""},
                                                           {"", ""}};
  for (const auto& [bytes, kind] : rows) {
    EXPECT_EQ(binary_kind(std::as_bytes(std::span(bytes))), kind) << bytes;
  }
}

}  // namespace
}  // namespace lockstep
