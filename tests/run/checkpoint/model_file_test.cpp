#include "lockstep/model_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <map>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

std::string little_endian(std::uint64_t value) {
  std::string text;
  for (int shift = 0; shift < 64; shift += 8) {
    text += static_cast<char>(value >> shift);
  }
  return text;
}

std::string model(const std::string& json, std::size_t data_bytes) {
  return little_endian(json.size()) + json + std::string(data_bytes, '\0');
}

/// A tensor's entry in the header.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

/// JSON object of these entries.
std::string object(std::initializer_list<std::string> entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

ModelFile parse(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return ModelFile::parse({bytes.begin(), bytes.end()}, "model");
}

void expect_bad(const std::string& text, const std::string& part) {
  expect_error(Category::data, {"model: ", part}, [&] { parse(text); });
}

const std::vector<float> six = {1.0F, -2.0F, 3.5F, 0.0F, 1e-30F, 7.0F};
const std::vector<float> one = {42.0F};

TEST(ModelFile, RoundTrip) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.safetensors";
  const std::vector<std::int64_t> numbers = {-1, 1LL << 40};
  const std::vector<NamedTensor> tensors = {{"n", {2}, numbers},
                                            {"z.weight", {2, 3}, six},
                                            {"scalar", {}, one},
                                            {"empty", {0, 5}, {}},
                                            {"a \"quoted\" \u00fc", {1}, one}};
  write_model_file(file, tensors, {{"model", "lenet"}, {"seed", "1"}});
  const ModelFile read = ModelFile::read(file);
  EXPECT_EQ(read.origin(), file.string());
  EXPECT_EQ(
      read.metadata(),
      (std::map<std::string, std::string>{
          {"metadata_digest", "xxh3:16aef9814d6885d6bc2ca9bda9264724"}, {"model", "lenet"}, {"seed", "1"}}));
  EXPECT_EQ(metadata_digest(read.metadata()), read.metadata().at("metadata_digest"));
  ASSERT_EQ(read.tensors().size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(read.tensors()[i].name, tensors[i].name);  // in the given order
    EXPECT_EQ(read.tensors()[i].dtype, i == 0 ? "I64" : "F32");
    EXPECT_EQ(read.tensors()[i].shape, tensors[i].shape);
    EXPECT_TRUE(std::ranges::equal(read.bytes(read.tensors()[i]), tensors[i].bytes()));
  }
  EXPECT_EQ(folder.names().size(), 1U);
}

// The bytes that safetensors.torch.save_file writes for these tensors.
TEST(ModelFile, WritesTheBytesOfTheReferenceWriter) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"a", {2, 1}, std::span(six).first(2)}, {"b", {1}, one}};
  write_model_file(folder.path() / "m", tensors, {});
  std::string json = object({entry("a", "F32", "[2,1]", "[0,8]"), entry("b", "F32", "[1]", "[8,12]")});
  json.append((8 - json.size() % 8) % 8, ' ');
  const std::string data("\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x28\x42", 12);
  EXPECT_EQ(contents(folder.path() / "m"), little_endian(json.size()) + json + data);
}

TEST(ModelFile, HeaderInAnyOrderAndWithoutPadding) {
  const std::string json = object({entry("late", "F32", "[1]", "[4,8]"), " \"__metadata__\":{\"k\":\"v\"}",
                                   entry("early", "F32", "[1]", "[0,4]")});
  for (const std::string padding : {"", " ", "  ", "   "}) {
    std::string file = little_endian(json.size() + padding.size());
    file.append(json).append(padding).append("\0\0\x80\x3f\0\0\0\x40", 8);
    const ModelFile read = parse(file);
    EXPECT_EQ(read.tensors()[0].name, "early");
    EXPECT_EQ(read.floats("early", std::array<std::int64_t, 1>{1})[0], 1.0F);
    EXPECT_EQ(read.floats("late", std::array<std::int64_t, 1>{1})[0], 2.0F);
    EXPECT_EQ(read.metadata().at("k"), "v");
  }
}

/// Halves: 1, -2, the smallest subnormal, the largest finite number, -inf, the negative subnormal nearest to
/// 0. The tensor after them begins at byte 12 of the data and holds 1 and -2.5 in bfloat16.
TEST(ModelFile, FloatsOfHalfPrecision) {
  const std::string json = object({entry("h", "F16", "[6]", "[0,12]"), entry("b", "BF16", "[2]", "[12,16]")});
  const std::string data("\x00\x3c\x00\xc0\x01\x00\xff\x7b\x00\xfc\x01\x80\x80\x3f\x20\xc0", 16);
  const ModelFile read = parse(little_endian(json.size()) + json + data);
  const std::span<const float> halves = read.floats("h", std::array<std::int64_t, 1>{6});
  EXPECT_EQ(std::vector<float>(halves.begin(), halves.end()),
            (std::vector<float>{1.0F, -2.0F, 0x1p-24F, 65504.0F, -std::numeric_limits<float>::infinity(),
                                -0x1p-24F}));
  const std::span<const float> others = read.floats("b", std::array<std::int64_t, 1>{2});
  EXPECT_EQ(std::vector<float>(others.begin(), others.end()), (std::vector<float>{1.0F, -2.5F}));
  EXPECT_EQ(read.tensors()[0].dtype, "F16");
  EXPECT_EQ(read.bytes(read.tensors()[0]).size(), 12U);
}

TEST(ModelFile, OtherTypesAndNoTensors) {
  const ModelFile read = parse(model(object({entry("h", "BF16", "[3]", "[0,6]")}), 6));
  EXPECT_EQ(read.bytes(read.tensors()[0]).size(), 6U);
  EXPECT_TRUE(parse(model("{}", 0)).tensors().empty());
}

TEST(ModelFile, FloatsNamesWhatDoesNotFit) {
  const ModelFile read =
      parse(model(object({entry("w", "F32", "[2,3]", "[0,24]"), entry("odd", "U8", "[1]", "[24,25]"),
                          entry("x", "F32", "[1]", "[25,29]"), entry("d", "F64", "[1]", "[29,37]")}),
                  37));
  using Shape1 = std::array<std::int64_t, 1>;
  expect_error(Category::data, {"model: no tensor 'v'"}, [&] { read.floats("v", Shape1{6}); });
  expect_error(Category::data, {"model: tensor 'w' is F32 [2, 3], F32 [6] is needed"},
               [&] { read.floats("w", Shape1{6}); });
  expect_error(Category::data, {"model: tensor 'odd' is U8 [1], F32 [1] is needed"},
               [&] { read.floats("odd", Shape1{1}); });
  expect_error(Category::data, {"model: tensor 'd' is F64 [1], F32 [1] is needed: write it with .float()"},
               [&] { read.floats("d", Shape1{1}); });
  expect_error(Category::data, {"model: tensor 'x': data begin at byte 25, not a multiple of 4"},
               [&] { read.floats("x", Shape1{1}); });
}

TEST(ModelFile, BadLengths) {
  const std::string json = object({entry("w", "F32", "[1]", "[0,4]")});
  expect_bad("", "an empty file, not a model file (safetensors)");
  expect_bad(std::string(7, '\0'), "too short for a safetensors file: 7 bytes");
  expect_bad(little_endian(1), "header length 1 at byte 0 exceeds the file's 8 bytes");
  expect_bad(little_endian(~0ULL) + "{}", "header length 18446744073709551615 at byte 0 exceeds the limit");
  expect_bad(little_endian(100000001) + "{}", "exceeds the limit of 100000000 bytes");
  expect_bad(little_endian(0), "no JSON object at byte 8");
  const std::string torch_save =
      "a file of torch.save, not in the safetensors format: write it with safetensors.torch.save_file";
  expect_bad(std::string("PK\x03\x04\0\0\x08\x08", 8) + "net/data.pkl" + json, torch_save);
  expect_bad("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", torch_save);
  expect_bad(std::string("\xff\xd8\xff\xe0\0\x10JFIF", 10), "a JPEG image, not a model file");
  expect_bad("sepal,petal,label\n1,2,a\n", "a table of text, not a model file");
  expect_bad(little_endian(0x280),
             "header length 640 at byte 0 exceeds the file's 8 bytes");  // begins like a pickle
  expect_bad(model(json, 3), "tensor 'w': data_offsets [0, 4] outside the data (3 bytes)");
  expect_bad(model(json, 5), "tensors end at byte 4 of the data, file holds 5");
  expect_bad(model("{}", 1), "tensors end at byte 0 of the data, file holds 1");
}

/// All other invalid input is refused by core/json.
TEST(ModelFile, BadHeaders) {
  expect_bad(model("{}x", 0), "not valid JSON at byte 10");
  for (const char* json : {"[]", " {}"}) expect_bad(model(json, 0), "no JSON object at byte 8");
  expect_bad(model("{\"w\":5}", 0), "model: w: must be an object");
  expect_bad(model("{\"__metadata__\":{\"k\":1}}", 0), "__metadata__.k: must be a text");
  expect_bad(model("{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4), "model: w: data_offsets is missing");
  expect_bad(model(object({entry("w", "F32", "[1]", "[0,4],\"color\":1")}), 4),
             "model: w.color: unknown key");
  expect_bad(model(object({entry("w", "F32", "[9223372036854775808]", "[0,4]")}), 4),
             "model: w.shape[0]: must be a whole number from 0 to 9223372036854775807");
}

TEST(ModelFile, BadTensors) {
  const auto two = [](const std::string& offsets) {
    return model(object({entry("a", "F32", "[2]", "[0,8]"), entry("b", "F32", "[1]", offsets)}), 16);
  };
  const auto single = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return model(object({entry("w", dtype, shape, offsets)}), 4);
  };
  expect_bad(two("[4,8]"),
             "tensor 'b': data begins at byte 4, overlapping the data before it, which ends at 8");
  expect_bad(two("[12,16]"),
             "tensor 'b': data begins at byte 12, leaving a gap after the data before it, which ends at 8");
  expect_bad(two("[8,12]"), "tensors end at byte 12 of the data, file holds 16");
  expect_bad(single("F33", "[1]", "[0,4]"), "tensor 'w': unknown dtype 'F33'");
  expect_bad(single("F32", "[1]", "[4,0]"), "tensor 'w': data_offsets [4, 0] outside the data (4 bytes)");
  expect_bad(single("F32", "[1]", "[0,9]"), "tensor 'w': data_offsets [0, 9] outside the data (4 bytes)");
  expect_bad(single("F32", "[1]", "[0]"), "model: w: data_offsets must be two numbers");
  expect_bad(single("F32", "[1]", "[0,2,4]"), "model: w: data_offsets must be two numbers");
  expect_bad(single("F32", "[2]", "[0,4]"), "tensor 'w': shape and dtype need 8 bytes, data_offsets hold 4");
  expect_bad(single("U8", "[3]", "[0,4]"), "tensor 'w': shape and dtype need 3 bytes, data_offsets hold 4");
  expect_bad(single("F32", "[4611686018427387905]", "[0,4]"), "tensor 'w': shape is too large");
  expect_bad(single("U8", "[4294967296,4294967296]", "[0,4]"), "tensor 'w': shape is too large");
  EXPECT_EQ(
      parse(model(object({entry("w", "F32", "[9223372036854775807,9,0]", "[0,0]")}), 0)).tensors().size(),
      1U);
}

TEST(ModelFile, FilesThatCannotBeRead) {
  expect_error(Category::data, {"/no/such/file: cannot open: No such file or directory"},
               [] { ModelFile::read("/no/such/file"); });
  expect_error(Category::data, {"/dev/null: not a regular file"}, [] { ModelFile::read("/dev/null"); });
}

TEST(WriteModelFile, RefusesWhatItCouldNotRead) {
  const TemporaryFolder folder;
  const auto write = [&](const std::vector<NamedTensor>& tensors) {
    write_model_file(folder.path() / "m", tensors, {});
  };
  const auto refused = [&](const std::vector<NamedTensor>& tensors, const std::string& message) {
    expect_error(Category::usage, {message}, [&] { write(tensors); });
  };
  refused({{"w", {2, 2}, six}}, "tensor 'w': its values have 24 bytes, which do not fit its shape");
  refused({{"w", {1}, one}, {"w", {1}, one}}, "tensor 'w': this name is reserved, or another tensor has it");
  refused({{"__metadata__", {1}, one}}, "tensor '__metadata__': this name is reserved");
  refused({{"w\xff", {1}, one}}, "': a name must be UTF-8 in a model file");
  const auto write_metadata = [&](const std::string& name, const std::string& text) {
    std::map<std::string, std::string> metadata;
    metadata[name] = text;
    write_model_file(folder.path() / "m", {}, metadata);
  };
  expect_error(Category::usage, {"metadata 'mine': name and text must be UTF-8 in a model file"},
               [&] { write_metadata("mine", "\xff"); });
  expect_error(Category::usage, {"mine': name and text must be UTF-8"},
               [&] { write_metadata("\xffmine", "yours"); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  for (const auto& use : std::vector<std::function<void()>>{[] { write_model_file("", {}, {}); },
                                                            [] { check_model_file_writable(""); }}) {
    expect_error(Category::resource, {"cannot write a file whose name is empty"}, use);
  }
}

}  // namespace
}  // namespace lockstep
