// Image folders and packed images.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include "core/files/file.h"
#include "data/feed/micro_batch_reader.h"
#include "data/files/shard_index.h"
#include "data/sets/dataset_statistics.h"
#include "data/sets/images/image_folder.h"
#include "data/sets/images/image_parts.h"
#include "data/sets/images/listed_images.h"
#include "data/sets/images/pack_images.h"
#include "data/sets/images/packed_images.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

constexpr Shape shape = {.channels = 3, .height = 24, .width = 24};

/// train/ with cats 1, 2 and dogs 1, 2.png; hidden entries and other names are skipped.
struct Pets : TemporaryFolder {
  Pets() {
    write("train/.cache/1.jpg", "");
    write("train/cat/1.jpg", jpeg_file(60, 40, 1));
    write("train/cat/2.JPEG", jpeg_file(30, 30, 2, 1));
    write("train/cat/readme.txt", "text");
    write("train/dog/.hidden.jpg", "");
    write("train/dog/1.jpg", jpeg_file(25, 70, 3));
    write("train/dog/2.png", as_text(encode_png(test_image(40, 30, 4).pixels, 40, 30, PNG_FORMAT_RGB)));
  }
  std::unique_ptr<Dataset> open() const { return make_images(list_images(path() / "train"), shape); }
};

TEST(ImageFolder, ClassesAndFilesAreSorted) {
  const Pets pets;
  const auto data = pets.open();
  ASSERT_EQ(data->size(), 4U);
  EXPECT_EQ(data->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data->encoding(), Encoding::image_file);
  EXPECT_EQ(data->sample_name(1), (pets.path() / "train/cat/2.JPEG").string());
  EXPECT_EQ(data->label(1), 0);
  EXPECT_EQ(data->label(3), 1);
}

/// Other hosts may still have the file, so skipping it would change the result.
TEST(ImageFolder, FilesThatAreGoneAreNotSkipped) {
  const Pets pets;
  std::filesystem::create_symlink("nowhere", pets.path() / "train/cat/3.jpg");
  const auto data = pets.open();
  std::vector<std::uint8_t> buffer;
  expect_error(Category::data, {"cat/3.jpg"}, [&] { data->sample(2, buffer); });
  std::filesystem::remove(pets.path() / "train/cat/1.jpg");
  expect_error(Category::resource, {"cat/1.jpg: was removed after the data set was opened"},
               [&] { data->sample(0, buffer); });
  std::filesystem::remove_all(pets.path() / "train/dog");
  expect_error(Category::resource, {"dog/1.jpg: was removed after the data set was opened"},
               [&] { data->sample(3, buffer); });
}

TEST(ImageFolder, NamesTheFilesThatItSkips) {
  const Pets pets;
  const std::string start = (pets.path() / "train").string() + ": ",
                    skipped = " skipped, not CLASS/NAME.jpg, .jpeg, .png or .webp; the first is ";
  EXPECT_EQ(pets.open()->warnings(), Names{start + "1 entry" + skipped + "cat/readme.txt"});
  for (const char* name : {"dog/3.gif", "dog/4", "all\n.csv"}) pets.write(std::string("train/") + name, "");
  for (const char* name : {"more", "more.png"})
    std::filesystem::create_directories(pets / "train/cat" / name);
  EXPECT_EQ(pets.open()->warnings(), Names{start + "6 entries" + skipped + "all?.csv"});
  EXPECT_EQ(pets.open()->size(), 4U);
  for (const char* name : {"all\n.csv", "cat/readme.txt", "cat/more", "cat/more.png", "dog/3.gif", "dog/4"}) {
    std::filesystem::remove(pets.path() / "train" / name);
  }
  EXPECT_EQ(pets.open()->warnings(), Names());
}

TEST(ImageFolder, FoldersThatDoNotFit) {
  const Pets pets;
  const std::string train = (pets / "train").string();
  expect_error(Category::data, {"/nowhere: no such folder"}, [] { list_images("/nowhere"); });
  expect_error(Category::data, {"train/dog: the training images have no such class"},
               [&] { list_images(train, {"cat"}); });
  std::filesystem::create_directories(pets / "train/emu");
  expect_error(Category::data, {"train/emu: a class without images"}, [&] { list_images(train); });
  for (const char* name : {"2.heic", "1.heic", ".hidden"}) pets.write(std::string("train/emu/") + name, "");
  expect_exact_error(Category::data,
                     train +
                         "/emu: a class without images (.jpg, .jpeg, .png or .webp); "
                         "2 entries skipped, the first is 1.heic",
                     [&] { list_images(train); });
  expect_exact_error(Category::data,
                     train +
                         "/cat: holds neither folders named after classes nor train*.tar; "
                         "a table can name the classes of its images (--labels)",
                     [&] { list_images(train + "/cat"); });
  std::filesystem::rename(pets / "train/emu", pets / "train/e\nmu");
  expect_error(Category::data, {"/train: class 'e?mu' has control characters in its name"},
               [&] { list_images(train); });
}

TEST(ImageFolder, FoldersOfAnotherLevel) {
  const std::string reason = "a class without images (.jpg, .jpeg, .png or .webp)";
  const std::string part = reason + "; parts of the data must be called train, val and test";
  const std::string level = reason + "; its folders hold images: if they are the classes, name the folder ";
  for (const std::string name : {"Training", "VALID", "testing", "animals", "trains", "valley"}) {
    const TemporaryFolder photos;
    for (const char* pet : {"cat", "dog"}) photos.write(fmt::format("{}/{}/1.jpg", name, pet), "");
    const std::string folder = photos.string() + "/" + name;
    const bool is_part = name == "Training" || name == "VALID" || name == "testing";
    const auto expect = [&](const std::string& end, const std::string& closed) {
      TestFiles files(system_files(), [&](const FileCall& call) {
        return call.name == "list" && call.path.filename().string().find_first_of(closed) == 0 ? EACCES : 0;
      });
      const ScopedFiles replaced(files);
      expect_exact_error(Category::data, folder + ": " + end, [&] { list_images(photos.path()); });
    };
    const std::string advice = is_part ? part : level + folder + " instead";
    expect(advice, "");
    expect(advice, "c");  // cat cannot be listed
    expect(reason, "cd");
  }
}

/// Two classes with 100 empty files each, for listing only.
struct Undivided : TemporaryFolder {
  Undivided() {
    for (const char* name : {"cat", "dog"}) {
      for (int i = 0; i < 100; ++i) write(fmt::format("{}/{}.jpg", name, i), "");
    }
  }
  std::vector<std::string> names(bool test) const {
    const ImageParts parts = list_image_parts(path(), 0.25);
    std::vector<std::string> names;
    for (const ImageList::File& file : (test ? *parts.test : parts.train).files) names.push_back(file.name);
    return names;
  }
};

TEST(ImageParts, AQuarterOfEachClassIsHeldOut) {
  const Undivided pets;
  const std::vector<std::string> train = pets.names(false);
  const std::vector<std::string> test = pets.names(true);
  EXPECT_EQ(test.size(), 50U);
  EXPECT_EQ(std::ranges::count_if(test, [](const std::string& name) { return name.starts_with("cat/"); }),
            25);
  std::vector<std::string> all;
  std::ranges::merge(train, test, std::back_inserter(all));
  EXPECT_EQ(all.size(), 200U);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  const ImageParts parts = list_image_parts(pets.path(), 0.25);
  for (const ImageList* list : {&parts.train, &*parts.test}) {
    EXPECT_EQ(list->classes, (std::vector<std::string>{"cat", "dog"}));
    for (const ImageList::File& file : list->files) {
      EXPECT_EQ(list->classes[static_cast<std::size_t>(file.label)], file.name.substr(0, 3));
    }
  }
}

TEST(ImageParts, FilesThatAreAddedMoveFewOthers) {
  const Undivided pets;
  const std::vector<std::string> before = pets.names(true);
  pets.write("cat/0.png", "");
  for (int i = 0; i < 50; ++i) pets.write("ant/" + std::to_string(i) + ".jpg", "");
  const std::vector<std::string> after = pets.names(true);
  std::vector<std::string> both;
  std::ranges::set_intersection(after, before, std::back_inserter(both));
  EXPECT_GE(both.size(), before.size() - 2);
}

TEST(ImageParts, TrainingFolderAloneIsDividedToo) {
  const Undivided pets;
  const std::vector<std::string> before = pets.names(true);
  std::filesystem::create_directories(pets.path() / "train");
  for (const char* name : {"cat", "dog"}) {
    std::filesystem::rename(pets.path() / name, pets.path() / "train" / name);
  }
  EXPECT_EQ(pets.names(true), before);
}

TEST(ImageParts, ImagesBesideThePartsAreNamed) {
  const Pets pets;
  const auto warnings = [&] {
    const ImageParts parts = list_image_parts(pets.path(), 0.25);
    EXPECT_EQ(warnings_of(*parts.test), Names());
    return warnings_of(parts.train);
  };
  std::filesystem::remove(pets / "train/cat/readme.txt");
  pets.write("readme.txt", "");
  pets.write("runs/1/options.cfg", "");
  pets.write(".cache/cat/1.jpg", "");
  EXPECT_EQ(warnings(), Names()) << "these are no images";
  pets.write("emu/1.jpg", "");
  EXPECT_EQ(warnings(), Names{pets.string() + ": 1 entry skipped, beside train; the first is emu"});
  for (const char* name : {"loose.png", "shard-1.tar", "dev/cat/1.jpg", "Val/cat/1.jpg"}) {
    pets.write(name, "");
  }
  EXPECT_EQ(warnings(), Names{pets.string() + ": 5 entries skipped, beside train; the first is Val; parts of "
                                              "the data must be called train, val and test"});
}

TEST(ImageParts, FractionsThatAreMissingOrHaveNoUse) {
  const Undivided pets;
  const auto refused = [&](Category category, double fraction, const std::vector<std::string>& words,
                           DataUse use = DataUse::training) {
    expect_error(category, words, [&] { list_image_parts(pets.path(), fraction, use); });
  };
  refused(Category::usage, 0.0,
          {"no folders train and test there: give --test-fraction 0.2 to", "train/CLASS/"});
  refused(Category::data, 1e-9, {"a test fraction of 1e-09 of 200 images leaves none to test"});
  std::filesystem::create_directories(pets / "train");
  refused(Category::usage, 0.0,
          {"no folder test there: give --test-fraction 0.2 to test with a fifth of the images"});
  std::filesystem::create_directories(pets / "test");
  refused(Category::usage, 0.5, {"test-fraction: has no effect, as ", "/test exists: omit it"});
  std::filesystem::remove(pets / "train");
  refused(Category::data, 0.0,
          {"no folder train there beside test; images must lie in ",
           "; test is taken for the test part: if it is a class, rename the folder"});
  refused(Category::data, 0.0,
          {"beside test; to take its images, give --data-dir " + (pets / "test").string() + " --split all"},
          DataUse::measuring);
  std::filesystem::rename(pets / "test", pets / "val");
  refused(Category::data, 0.0,
          {"no folder train there beside val", "; val is taken for the validation part"});
  std::filesystem::create_directories(pets / "valid");
  refused(Category::data, 0.0, {": both valid and val are there, for the same part of the data: keep one"});
  expect_error(Category::data, {"/nowhere: no such folder"}, [] { list_image_parts("/nowhere", 0.0); });
}

TEST(ImageParts, AClassCalledTrainIsNamed) {
  const Undivided pets;
  std::filesystem::rename(pets / "dog", pets / "train");
  expect_error(
      Category::data,
      {"train: holds neither folders named after classes nor train*.tar; train is taken for the training "
       "part: if it is a class, rename the folder"},
      [&] { list_image_parts(pets.path(), 0.2); });
}

/// The name alone decides what a part is, whichever other parts exist.
TEST(ImageParts, AreTakenForWhatTheyAreCalled) {
  for (const char* name : {"val", "valid", "validation"}) {
    const TemporaryFolder pets;
    const auto add = [&](const std::string& part, int images) {
      for (const char* pet : {"cat", "dog"}) {
        for (int i = 0; i < images; ++i) pets.write(fmt::format("{}/{}/{}.jpg", part, pet, i), "");
      }
    };
    const auto sizes = [&](double test_fraction) {
      const ImageParts parts = list_image_parts(pets.path(), test_fraction);
      const auto size = [](const std::optional<ImageList>& list) { return list ? list->files.size() : 0; };
      return std::array{parts.train.files.size(), size(parts.validation), size(parts.test)};
    };
    add("train", 10);
    add(name, 3);
    EXPECT_EQ(sizes(0.0), (std::array<std::size_t, 3>{20, 6, 0}));
    EXPECT_EQ(sizes(0.2), (std::array<std::size_t, 3>{16, 6, 4}));
    add("test", 2);
    EXPECT_EQ(sizes(0.0), (std::array<std::size_t, 3>{20, 6, 4}));
  }
}

/// Labels of a micro-batch of all samples.
std::vector<std::int32_t> readable_labels(const Dataset& data, bool strict) {
  const Transform transform({}, data);
  BadSamples bad(strict);
  MicroBatchReader reader(data, transform, bad, data.size());
  std::vector<std::uint64_t> ids(data.size());
  for (std::uint64_t id = 0; id < data.size(); ++id) ids[id] = id;
  const MicroBatch& batch = reader.read(transform.rule(), 0, ids);
  EXPECT_EQ(bad.count(), data.size() - batch.size);
  return {batch.labels, batch.labels + batch.size};
}

TEST(ImageFolder, AFailingMachineIsNoDamagedFile) {
  const Pets pets;
  const auto data = pets.open();
  TestFiles files(system_files(), [](const FileCall& call) { return call.name == "open" ? EMFILE : 0; });
  const ScopedFiles replaced(files);
  expect_error(Category::resource, {"train/cat/1.jpg: cannot open: Too many open files"},
               [&] { readable_labels(*data, false); });
  for (const int reason : {ENOENT, EACCES, EISDIR, ELOOP, ENAMETOOLONG, ENOTDIR}) {
    EXPECT_EQ(category_of_failure(reason), Category::data) << reason;
  }
  for (const int reason : {EMFILE, ENFILE, ENOMEM, EIO, ESTALE}) {
    EXPECT_EQ(category_of_failure(reason), Category::resource) << reason;
  }
}

TEST(BadSamples, TenAreNamedAndTheRestCounted) {
  BadSamples bad(false);
  ::testing::internal::CaptureStderr();
  for (std::uint64_t id = 0; id < 25; ++id) {
    bad.add(id, "sample " + std::to_string(id));
    bad.add(id, "again");
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(bad.count(), 25U);
  EXPECT_NE(text.find("warning: sample 9; skipped\nlockstep: warning: further samples"), std::string::npos)
      << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 11) << text;
}

struct PackedPets : Pets {
  PackedPets() { result = pack({}); }
  PackResult pack(PackOptions options) const {
    options.size = 20;
    options.shard_bytes = 1500;
    return pack_images(list_images(path() / "train"), path() / "packed", "train", options);
  }
  std::unique_ptr<Dataset> open_packed() const {
    return open_packed_images(path() / "packed", "train", shape);
  }
  void change(const std::string& file, const std::function<void(std::string&)>& edit) const {
    std::string bytes = contents(path() / "packed" / file);
    edit(bytes);
    write("packed/" + file, bytes);
  }
  PackResult result;
};

TEST(PackedImages, HoldTheSameSamplesSmaller) {
  const PackedPets pets;
  EXPECT_EQ(pets.result.packed, 4U);
  EXPECT_EQ(pets.result.bad, 0U);
  EXPECT_GT(pets.result.shards, 1U);
  const auto data = pets.open_packed();
  EXPECT_EQ(data->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(readable_labels(*data, true), (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_NE(data->sample_name(3).find("dog/2.png"), std::string::npos) << data->sample_name(3);
  ImageDecoder decoder;
  std::vector<std::uint8_t> buffer;
  const std::vector<std::pair<int, int>> sizes = {{30, 20}, {20, 20}, {20, 56}, {27, 20}};
  for (std::uint64_t id = 0; id < 4; ++id) {
    const ImageSize size = decoder.open(data->sample(id, buffer));
    EXPECT_EQ(std::pair(size.width, size.height), sizes[id]) << id;
  }
}

TEST(PackedImages, ImagesTooLongForAJpegFileAreKept) {
  const Pets pets;
  const int width = 140'000;
  const auto file = encode_png(std::vector<std::uint8_t>(2 * width, 100), width, 2, PNG_FORMAT_GRAY);
  pets.write("train/cat/3.png", as_text(file));
  const PackResult result =
      pack_images(list_images(pets.path() / "train"), pets.path() / "packed", "train", {.size = 1});
  EXPECT_EQ(result.packed, 5U);
  const auto data = open_packed_images(pets.path() / "packed", "train", shape);
  std::vector<std::uint8_t> buffer;
  EXPECT_TRUE(std::ranges::equal(data->sample(2, buffer), file));
}

TEST(PackedImages, PackingAgainLeavesNoOldShards) {
  const PackedPets pets;
  const auto shards = [&] {
    std::uint32_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(pets.path() / "packed")) {
      count += entry.path().extension() == ".shard" ? 1 : 0;
    }
    return count;
  };
  pets.write("packed/train-00007.shard.0123abcd.tmp", "of a killed packing");
  EXPECT_EQ(shards(), pets.result.shards);
  const PackResult again =
      pack_images(list_images(pets.path() / "train"), pets.path() / "packed", "train", {.size = 20});
  EXPECT_EQ(again.shards, 1U);
  EXPECT_EQ(shards(), 1U);
  EXPECT_FALSE(std::filesystem::exists(pets.path() / "packed/train-00007.shard.0123abcd.tmp"));
  EXPECT_EQ(pets.open_packed()->size(), 4U);
}

/// The program refuses to pack into a folder with an index, so an index left behind would make the repeated
/// command fail.
TEST(PackedImages, APackingWhoseLastSyncFailsLeavesNoIndex) {
  const PackedPets pets;
  bool has_index = false;
  TestFiles files(system_files(), [&](const FileCall& call) {
    has_index =
        has_index || (call.name == "rename" && call.path.filename().string().starts_with("train.index"));
    return has_index && call.name == "fsync" ? EIO : 0;
  });
  const ScopedFiles replaced(files);
  expect_error(Category::resource, {"packed: cannot sync: Input/output error"}, [&] { pets.pack({}); });
  EXPECT_TRUE(has_index);
  EXPECT_FALSE(std::filesystem::exists(pets.path() / "packed/train.index"));
}

TEST(PackedImages, FlippedBitsAreFound) {
  const PackedPets pets;
  pets.change("train-00000.shard", [](std::string& bytes) { bytes[300] ^= 4; });
  const auto data = pets.open_packed();
  expect_error(Category::data, {"train-00000.shard: cat/1.jpg at byte 0: its checksum is wrong"},
               [&] { readable_labels(*data, true); });
  EXPECT_EQ(readable_labels(*data, false).size(), 3U);
  for (const std::size_t place : {3U, 15U, 16U, 24U, 32U, 41U, 70U}) {
    const PackedPets other;
    other.change("train.index", [&](std::string& bytes) { bytes[place] ^= 1; });
    expect_error(Category::data, {"packed/train.index: "}, [&] { other.open_packed(); });
  }
}

TEST(PackedImages, MissingAndShortFiles) {
  const PackedPets pets;
  const auto data = pets.open_packed();
  std::filesystem::resize_file(pets.path() / "packed/train-00000.shard", 0);
  std::vector<std::uint8_t> buffer;
  expect_error(Category::data, {"train-00000.shard: ends at byte "}, [&] { data->sample(0, buffer); });
  EXPECT_FALSE(data->sample(3, buffer).empty());  // a sample of another shard
  expect_error(Category::data, {"train-00000.shard: ", "the file is too short"}, [&] { pets.open_packed(); });
  std::filesystem::remove(pets.path() / "packed/train-00000.shard");
  expect_error(Category::data, {"train-00000.shard: cannot open"}, [&] { pets.open_packed(); });
  pets.change("train.index", [](std::string& bytes) { bytes.pop_back(); });
  expect_error(Category::data, {"train.index: header promises 4 samples"}, [&] { pets.open_packed(); });
}

TEST(DatasetStatistics, AugmentSamples) {
  const Pets pets;
  const auto data = pets.open();
  const auto mean = [&](const AugmentOptions& augment) {
    return measure_dataset(*data, {}, augment, [](const std::string&) {}).channels.mean;
  };
  EXPECT_NE(mean({.cutout = 8}), mean({}));
}

TEST(ShardIndex, NumbersThatDoNotFit) {
  ShardIndex index;
  index.classes = {"x", "y"};
  index.entries = {{.length = 7, .label = 2}};
  expect_error(Category::data, {"t: class 2 is out of range: 2 classes"},
               [&] { parse_shard_index(serialize(index), "t"); });
  index.entries = {{.name_length = 100}};
  expect_error(Category::data, {"t: the samples' names have 100 bytes"},
               [&] { parse_shard_index(serialize(index), "t"); });
}

}  // namespace
}  // namespace lockstep
