// Images in tar archives.
#include "data/sets/images/tar_images.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/files/number_pattern.h"
#include "data/files/tar_index.h"
#include "data/sets/images/image_folder.h"
#include "data/sets/images/image_parts.h"
#include "data/sets/images/listed_images.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/tar_files.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

constexpr Shape shape = {.channels = 3, .height = 24, .width = 24};

std::vector<TarEntry> list_text(const std::string& archive) {
  return list_tar(
      {.name = "t.tar", .size = archive.size(), .read = [&](std::uint64_t at, std::span<std::byte> bytes) {
         std::ranges::copy(std::as_bytes(std::span(archive).subspan(at, bytes.size())), bytes.begin());
       }});
}

TEST(ListTar, OffsetsLeadToTheFiles) {
  const std::string long_name = std::string(150, 'd') + "/" + std::string(90, 'f') + ".jpg";
  const TarFiles files = {{"empty", ""},
                          {"a.jpg", std::string(512, 'a')},
                          {long_name, "long"},
                          {"folder/b.png", std::string(10'000, 'b')},
                          {"last", "c"}};
  for (const TarFormat format : {TarFormat::ustar, TarFormat::gnu, TarFormat::pax}) {
    const std::string archive = tar_archive(files, format);
    const std::vector<TarEntry> entries = list_text(archive);
    ASSERT_EQ(entries.size(), files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      EXPECT_EQ(entries[i].name, files[i].first);
      EXPECT_TRUE(entries[i].is_file);
      EXPECT_EQ(archive.substr(entries[i].offset, entries[i].size), files[i].second);
    }
  }
}

TEST(ListTar, DamagedArchivesSayWhere) {
  const std::string archive =
      tar_archive({{"a.jpg", std::string(1000, 'a')}, {"b.jpg", std::string(1000, 'b')}});
  std::string flipped = archive;
  flipped[1536 + 3] ^= 1;  // in the header of b.jpg
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"", {"t.tar: an empty file, not a tar archive"}},
      {jpeg_file(30, 30, 1), {"t.tar: a JPEG image, not a tar archive"}},
      {std::string(600, '\x01'), {"t.tar: byte 0: is not a readable tar archive: "}},
      {flipped, {"t.tar: byte 1536: is not a readable tar archive: "}},
      {archive.substr(0, 300), {"t.tar: byte 0: is not a readable tar archive: "}},
      {archive.substr(0, 1400), {"t.tar: byte 0: is not a readable tar archive: Truncated"}},
      {archive.substr(0, 1536), {"t.tar: byte 1536: the tar archive is cut off: its end is missing"}},
      {archive.substr(0, 3000), {"t.tar: byte 1536: is not a readable tar archive: Truncated"}},
      {archive.substr(0, 3072), {"t.tar: byte 3072: the tar archive is cut off: its end is missing"}},
      {archive + archive, {"bytes after the end of the tar archive"}},
      {"\x1f\x8b and so on", {"t.tar: is compressed", "unpack it (gunzip)"}},
      {"\x28\xb5\x2f\xfd and so on", {"t.tar: is compressed", "unpack it (unzstd)"}}};
  for (const auto& [bytes, words] : cases) {
    expect_error(Category::data, words, [&text = bytes] { list_text(text); });
  }
  EXPECT_EQ(list_text(archive.substr(0, 3072 + 512)).size(), 2U);  // GNU tar writes two blocks of zeros
}

TEST(ExpandNumbers, RangesInBraces) {
  using List = std::vector<std::string>;
  EXPECT_EQ(expand_numbers("a.tar"), (List{"a.tar"}));
  EXPECT_EQ(expand_numbers("a-{08..11}.tar"), (List{"a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"}));
  EXPECT_EQ(expand_numbers("{9..10}"), (List{"9", "10"}));
  EXPECT_EQ(expand_numbers("{0..1}/{5..6}x"), (List{"0/5x", "0/6x", "1/5x", "1/6x"}));
  EXPECT_EQ(expand_numbers("{000000..001281}").size(), 1282U);
  for (const char* wrong : {"{", "}", "a{}", "a{1}", "a{1..}", "a{..2}", "a{2..1}", "a{1..2", "a{x..y}",
                            "}1..2{", "a{-1..2}", "a{1..99999999999}"}) {
    expect_error(Category::usage, {wrong, "braces must contain a range of numbers, such as {00..09}"},
                 [&] { expand_numbers(wrong); });
  }
  expect_error(Category::usage, {"more than 100000 files"}, [] { expand_numbers("{1..1000}{1..1000}"); });
}

/// Cats 1, 2.x and dogs 1 (a PNG), 10, 2 in folders of classes.
struct Pets : TemporaryFolder {
  Pets() {
    for (const auto& [name, bytes] : files()) write("train/" + name, bytes);
  }
  static TarFiles files() {
    return {{"cat/1.jpg", jpeg_file(60, 40, 1)},
            {"cat/2.x.jpg", jpeg_file(30, 30, 2)},
            {"dog/1.png", as_text(encode_png(test_image(40, 30, 4).pixels, 40, 30, PNG_FORMAT_RGB))},
            {"dog/10.jpg", jpeg_file(25, 70, 3)},
            {"dog/2.jpeg", jpeg_file(25, 35, 5)}};
  }
  std::unique_ptr<Dataset> open_folder() const { return make_images(list_images(path() / "train"), shape); }
  /// Data set of archives with these files.
  std::unique_ptr<Dataset> open(const std::vector<TarFiles>& parts) const {
    return make_images(list(parts), shape);
  }
  ImageList list(const std::vector<TarFiles>& parts, const std::vector<std::string>& classes = {}) const {
    std::vector<std::filesystem::path> archives;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      archives.push_back(write("part-" + std::to_string(i) + ".tar", tar_archive(parts[i])));
    }
    return list_tar_images(archives, classes);
  }
};

void expect_same_samples(const Dataset& one, const Dataset& other) {
  ASSERT_EQ(one.size(), other.size());
  std::vector<std::uint8_t> buffer, other_buffer;
  for (std::uint64_t id = 0; id < one.size(); ++id) {
    EXPECT_EQ(one.label(id), other.label(id)) << id;
    EXPECT_TRUE(std::ranges::equal(one.sample(id, buffer), other.sample(id, other_buffer))) << id;
  }
}

TEST(TarImages, FoldersOfClassesKeepTheirOrder) {
  const Pets pets;
  TarFiles files = Pets::files();
  expect_same_samples(*pets.open({files}), *pets.open_folder());
  EXPECT_EQ(pets.open({files})->class_names(), pets.open_folder()->class_names());
  std::ranges::reverse(files);
  const char* other_ways[] = {"./", "/", "../", "x/../", "././/"};  // to the same places
  for (std::size_t i = 0; i < files.size(); ++i) files[i].first = other_ways[i] + files[i].first;
  expect_same_samples(*pets.open({{files[0], files[3]}, {files[1]}, {files[4], files[2]}}),
                      *pets.open_folder());
}

/// Samples are numbered in the order of the class folders and labelled with class names or numbers.
TEST(TarImages, NamesOfWebDatasetKeepTheirOrder) {
  const Pets pets;
  for (const bool as_numbers : {false, true}) {
    TarFiles files;
    int number = 0;
    for (const auto& [name, bytes] : Pets::files()) {
      const std::string key = fmt::format("{:06}", number++), extension = name.substr(name.rfind('.'));
      const std::string pet = name.substr(0, 3);
      files.emplace_back(key + ".cls", as_numbers ? (pet == "cat" ? "0" : "1\n") : pet);
      files.emplace_back(key + extension, bytes);
      files.emplace_back(key + ".json", "{}");
      files.emplace_back(key + ".seg.png", "a mask");
    }
    const auto data = pets.open({{files.begin(), files.begin() + 8}, {files.begin() + 8, files.end()}});
    EXPECT_EQ(data->class_names(),
              as_numbers ? (std::vector<std::string>{"0", "1"}) : (std::vector<std::string>{"cat", "dog"}));
    EXPECT_TRUE(data->warnings().empty());
    expect_same_samples(*data, *pets.open_folder());
  }
}

TEST(TarImages, NumbersOfClassesAreSortedAsNumbers) {
  const Pets pets;
  TarFiles files;
  for (const char* number : {"10", "9", "2"}) {
    files.emplace_back(std::string("x") + number + ".jpg", "image");
    files.emplace_back(std::string("x") + number + ".cls", number);
  }
  EXPECT_EQ(pets.list({files}).classes, (std::vector<std::string>{"2", "9", "10"}));
  files.emplace_back("folder/1.jpg", "image");  // one class has a name, so numbers count as names too
  EXPECT_EQ(pets.list({files}).classes, (std::vector<std::string>{"10", "2", "9", "folder"}));
}

TEST(TarImages, OtherEntriesAreCounted) {
  const Pets pets;
  const ImageList list = pets.list({{{"cat/1.jpg", "x"},
                                     {"fox/./1.jpg", "x"},
                                     {"cat/._1.jpg", "of a Mac"},
                                     {".hidden/1.jpg", "x"},
                                     {"cat/readme.txt", "x"},
                                     {"dog/2.gif", "x"},
                                     {"3.cls", "dog"}}});
  EXPECT_EQ(list.files.size(), 2U);
  EXPECT_EQ(list.classes, (std::vector<std::string>{"cat", "fox"}));
  EXPECT_EQ(list.skipped_files, 3U);
  EXPECT_NE(warnings_of(list).at(0).find("part-0.tar: 3 entries skipped"), std::string::npos);
}

TEST(TarImages, SamplesThatDoNotFit) {
  const Pets pets;
  const std::vector<std::pair<TarFiles, std::vector<std::string>>> cases = {
      {{{"1.jpg", "x"}}, {"part-0.tar: 1.jpg at byte 512: the image has no class: neither a file 1.cls nor"}},
      {{{"1.jpg", "x"}, {"1.png", "y"}, {"1.cls", "0"}},
       {"1.png at byte ", "a second image of its sample, beside 1.jpg"}},
      {{{"1.jpg", "x"}, {"1.cls", " \n"}}, {"1.cls at byte 1536: is empty"}},
      {{{"1.jpg", "x"}, {"1.cls", std::string(2000, 'x')}},
       {"1.cls at byte 1536: is not the number or name"}},
      {{{"1.jpg", "x"}, {"1.cls", "a\nb"}}, {"part-0.tar: class 'a?b' has control characters"}},
      {{{"a/1.jpg", "x"}, {"a/1.jpg", "y"}}, {"a/1.jpg at byte 1536: the archive contains this name twice"}},
      {{{"../1.jpg", "x"}}, {"part-0.tar: 1.jpg at byte 512: the image has no class"}},
      {{{"a/readme", "x"}}, {"part-0.tar: no images there"}}};
  for (const auto& [files, words] : cases) {
    expect_error(Category::data, words, [&, &archive = files] { pets.list({archive}); });
  }
  expect_error(Category::data, {"part-1.tar: emu/1.jpg at byte 512: the training images have no class 'emu'"},
               [&] {
                 pets.list({{{"cat/1.jpg", "x"}}, {{"emu/1.jpg", "x"}}}, {"cat", "dog"});
               });
}

TEST(TarImages, ImagesToPredictNeedNoClasses) {
  const TemporaryFolder folder;
  const auto archive = folder.write("t.tar", tar_archive({{"./2.jpg", "b"},
                                                          {"a/./3.x.png", "c"},
                                                          {"1.seg.png", "a mask"},
                                                          {"1.jpg", "a"},
                                                          {"1.cls", "0"},
                                                          {"a/.3.jpg", "hidden"},
                                                          {"notes.txt", "x"}}));
  std::vector<std::string> names;
  for (const TarEntry& image : images_in_tar(archive)) names.push_back(image.name);
  EXPECT_EQ(names, (std::vector<std::string>{"1.jpg", "2.jpg", "a/3.x.png"}));
  folder.write("t.tar", tar_archive({{"notes.txt", "x"}}));
  expect_error(Category::data, {"t.tar: no images there"}, [&] { images_in_tar(archive); });
}

TEST(TarImages, ArchivesThatShrink) {
  const Pets pets;
  const ImageList list = pets.list({Pets::files()});
  const auto data = make_images(list, shape);
  std::filesystem::resize_file(pets / "part-0.tar", 1000);
  std::vector<std::uint8_t> buffer;
  expect_error(Category::data, {"part-0.tar: ends at byte "}, [&] { data->sample(4, buffer); });
  expect_error(Category::data, {"part-0.tar: has become shorter"}, [&] { make_images(list, shape); });
}

TEST(TarImages, FingerprintsHoldClassesAndSizes) {
  const Pets pets;
  const auto print = [&](const char* pet, const char* bytes) {
    return pets
        .open({{{"1.jpg", bytes},
                {"1.cls", pet},
                {"2.jpg", "x"},
                {"2.cls", "b"},
                {"3.jpg", "x"},
                {"3.cls", "a"}}})
        ->fingerprint();
  };
  EXPECT_EQ(print("a", "x"), print("a", "x"));
  EXPECT_NE(print("a", "x"), print("b", "x"));
  EXPECT_NE(print("a", "x"), print("a", "xx"));
  EXPECT_NE(print("a", "x"), print("a", "y"));
}

/// Holding out selects the same files from a folder and from its archive.
TEST(ImageParts, ArchivesAreFoundAndDivided) {
  const Pets pets;
  const auto names = [](const ImageList& list) {
    std::vector<std::string> texts;
    for (const ImageList::File& file : list.files) texts.push_back(file.name);
    return texts;
  };
  TarFiles files;
  for (int i = 0; i < 40; ++i)
    files.emplace_back(fmt::format("{}/{}.jpg", i % 2 == 0 ? "cat" : "dog", i), "x");
  for (const auto& [name, bytes] : files) pets.write("folder/" + name, bytes);
  pets.write("tars/train-0.tar", tar_archive({files.begin(), files.begin() + 25}));
  pets.write("tars/train-1.tar", tar_archive({files.begin() + 25, files.end()}));
  const ImageParts of_folder = list_image_parts(pets / "folder", 0.2);
  EXPECT_EQ(of_folder.test->files.size(), 8U);
  for (const std::filesystem::path& place : {pets / "tars", pets / "tars/train-{0..1}.tar"}) {
    const ImageParts parts = list_image_parts(place, 0.2);
    EXPECT_EQ(names(parts.train), names(of_folder.train));
    EXPECT_EQ(names(*parts.test), names(*of_folder.test));
    expect_error(Category::usage, {"no test*.tar (or val*.tar) there: give --test-fraction 0.2 to test with"},
                 [&] { list_image_parts(place, 0.0); });
  }
  pets.write("tars/val.tar", tar_archive({{"cat/1.jpg", "x"}}));
  EXPECT_EQ(list_image_parts(pets / "tars", 0.0).validation->files.size(), 1U);
  pets.write("tars/valid-1.tar", "");
  expect_error(Category::data, {"tars: both val.tar and valid-1.tar are there"},
               [&] { list_image_parts(pets / "tars", 0.0); });
  std::filesystem::remove(pets / "tars/valid-1.tar");
  pets.write("tars/test-0.tar.gz", "\x1f\x8b");
  expect_error(Category::data, {"tars/test-0.tar.gz: is compressed"},
               [&] { list_image_parts(pets / "tars", 0.0); });
  std::filesystem::create_directories(pets / "tars/train/cat");
  expect_error(Category::data, {"tars: both train and train-0.tar are there"},
               [&] { list_image_parts(pets / "tars", 0.0); });
  expect_error(Category::data, {"tars/train-2.tar: cannot open"},
               [&] { list_image_parts(pets / "tars/train-{0..2}.tar", 0.2); });
}

}  // namespace
}  // namespace lockstep
