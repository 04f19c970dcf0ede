// Images with several labels, and the tables that name them.
#include "data/sets/images/labelled_images.h"

#include <gtest/gtest.h>

#include <optional>

#include "data/sets/images/label_table.h"
#include "data/sets/parts.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Texts = std::vector<std::string>;
using Floats = std::vector<float>;

LabelTable parsed(std::string_view text, const Names& drop = {}, const LabelTable* train = nullptr) {
  CsvReader reader(text, "t.csv");
  return read_label_table(reader, drop, train);
}

TEST(LabelTable, NamesOfLabelsInOneColumn) {
  const LabelTable table = parsed("image,labels\na.jpg,cat|dog\nb.jpg,\nc.jpg,big dog | cat\n");
  EXPECT_EQ(table.labels, (Texts{"big dog", "cat", "dog"}));
  EXPECT_EQ(table.images, (Texts{"a.jpg", "b.jpg", "c.jpg"}));
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{2, 3, 4}));
  EXPECT_EQ(table.targets, (Floats{0, 1, 1, 0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(parsed("image,labels\na,cat  dog\nb,dog \n").labels, (Texts{"cat", "dog"}));
  EXPECT_EQ(parsed("image,labels\na,cat;dog\nb,dog\n").labels, (Texts{"cat", "dog"}));
  EXPECT_EQ(parsed("image,labels\na,\"cat,big dog\"\nb,cat\n").labels, (Texts{"big dog", "cat"}));
  EXPECT_EQ(parsed("image\tlabels\na\t16 0\nb\t1\n").labels, (Texts{"0", "1", "16"}));
}

TEST(LabelTable, AColumnForEachLabel) {
  const LabelTable table = parsed("image,dog,cat\na.jpg,1,0\nb.jpg, 0 ,0\n");
  EXPECT_EQ(table.labels, (Texts{"dog", "cat"}));
  EXPECT_EQ(table.targets, (Floats{1, 0, 0, 0}));
}

TEST(LabelTable, ColumnsThatAreDropped) {
  const LabelTable table =
      parsed("nr,fname,labels,is_valid\n0,a.jpg,chair,True\n1,b.jpg,car person,False\n", {"is_valid", "nr"});
  EXPECT_EQ(table.labels, (Texts{"car", "chair", "person"}));
  EXPECT_EQ(table.images, (Texts{"a.jpg", "b.jpg"}));
  EXPECT_EQ(parsed("fname,labels,\"a,b\"\na,b,c\nb,d,c\n", {"\"a", "b\""}).labels, (Texts{"b", "d"}));
  expect_error(Category::data, {"t.csv: line 1: unknown column 'is_vlaid'; did you mean 'is_valid'?"},
               [] { parsed("fname,labels,is_valid\na,b,c\n", {"is_vlaid"}); });
}

TEST(LabelTable, OtherPartsHaveTheLabelsOfTheTrainingPart) {
  const LabelTable names = parsed("image,labels\na,cat|dog\n"), columns = parsed("image,dog,cat\na,1,0\n");
  EXPECT_EQ(parsed("image,labels\nb,dog\n", {}, &names).targets, (Floats{0, 1}));
  EXPECT_EQ(parsed("image,dog,cat\nb,0,1\n", {}, &columns).targets, (Floats{0, 1}));
  expect_error(Category::data, {"t.csv: line 2: unknown label 'dgo'; did you mean 'dog'?"},
               [&] { parsed("image,labels\nb,dgo\n", {}, &names); });
  for (const LabelTable* train : {&columns, &names}) {
    expect_error(Category::data, {"t.csv: line 1: other columns of labels than in t.csv"},
                 [&] { parsed("image,cat,dog\nb,1,0\n", {}, train); });
  }
}

TEST(LabelTable, BadTables) {
  const auto refused = [](const char* text, const char* words) {
    expect_error(Category::data, {words}, [&] { parsed(text); });
  };
  refused("image,dog,cat\na,1,2\n",
          "t.csv: line 2: column 'cat': '2' is neither 0 nor 1; labels are columns of");
  refused("fname,labels,is_valid\na,cat,True\n", "t.csv: line 2: column 'labels': 'cat' is neither 0 nor 1");
  refused("image,dog,cat\na,1,\n", "t.csv: line 2: column 'cat': '' is neither 0 nor 1");
  refused("image,labels\na,cat;;dog\n", "t.csv: line 2: an empty label in 'cat;;dog'");
  refused("image,labels\na,cat|dog\nb,dog|\n", "t.csv: line 3: an empty label in 'dog|'");
  refused("image,labels\n,cat dog\n", "t.csv: line 2: no image in column 'image'");
  refused("image,labels\na,\n", "t.csv: no image has a label");
  refused("image,dog,cat\na,0,0\n", "t.csv: no image has a label");
  refused("image,labels\na,cat\nb,\n",
          "t.csv: only one label, 'cat'; for images that have it and images that");
  refused("image,dog\na,1\nb,0\n", "t.csv: only one label, 'dog'");
  refused("image,dog,dog\na,1,0\n", "t.csv: line 1: two columns are called 'dog'");
  refused("image\na\n", "t.csv: line 1: the first column must name images");
  refused("image,labels\n", "t.csv: no rows after the header");
  refused("image,labels\na,cat,dog\n", "t.csv: line 2: 3 fields, the header has 2");
  refused("", "t.csv: is empty");
  refused("image,labels\na,c\xff t\n", "t.csv: line 2: column 'labels': a text is not UTF-8");
}

/// Images a.jpg to e.jpg, of which the tests use the names only.
struct Album : TemporaryFolder {
  explicit Album(const std::string& folder = "") {
    if (!folder.empty()) std::filesystem::create_directories(path() / folder);
    for (const char* name : {"a.jpg", "b.PNG", "c.jpeg", "d.jpg", "e.webp"}) add(folder + name);
  }
  void add(const std::string& name) const {
    std::filesystem::create_directories((path() / name).parent_path());
    write(name, "");
  }
  DatasetPair open(const std::string& labels, double test_fraction = 0.0) const {
    return open_labelled_images({.name = "images",
                                 .directory = string(),
                                 .image_size = 8,
                                 .task = Task::multilabel,
                                 .labels = (*this / labels).string(),
                                 .test_fraction = test_fraction});
  }
  void refused(Category category, const std::string& words, double test_fraction = 0.0,
               const std::string& labels = "labels.csv") const {
    expect_error(category, {words}, [&] { open(labels, test_fraction); });
  }
};

std::string names_in(const Dataset& dataset) {
  std::string names;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    names += std::filesystem::path(dataset.sample_name(id)).filename().string() + " ";
  }
  return names;
}

constexpr const char* all_rows = "image,labels\ne,sun\na.jpg,sun sea\nd,\n./b,sea\nc.jpeg,sky\n";

TEST(LabelledImages, HaveTheOrderOfTheRows) {
  const Album album("train/");
  album.write("labels.csv", std::string(all_rows) + "test/f,sun\n");
  album.add("test/f.jpg");
  album.add("test/.hidden.jpg");
  album.add("elsewhere/g.jpg");
  const DatasetPair pair = album.open("labels.csv");
  EXPECT_EQ(names_in(*pair.train), "e.webp a.jpg d.jpg b.PNG c.jpeg ");
  EXPECT_EQ(names_in(*pair.test), "f.jpg ");
  EXPECT_EQ(pair.validation, nullptr);
  EXPECT_EQ(pair.test_origin, (album / "test").string());
  EXPECT_EQ(pair.train->task(), Task::multilabel);
  EXPECT_EQ(pair.train->classes(), 3);
  EXPECT_EQ(pair.train->class_names(), (Texts{"sea", "sky", "sun"}));
  EXPECT_EQ(Floats(pair.train->targets(1).begin(), pair.train->targets(1).end()), (Floats{1, 0, 1}));
  EXPECT_EQ(pair.train->shape(), (Shape{3, 8, 8}));
  EXPECT_NE(pair.train->fingerprint(), pair.test->fingerprint());
  album.write("labels.csv", "image,labels\ne,sea\na.jpg,sun sea\nd,\nb,sea\nc.jpeg,sky\ntest/f,sun\n");
  EXPECT_NE(album.open("labels.csv").train->fingerprint(), pair.train->fingerprint());
}

TEST(LabelledImages, AFractionOfEachLabelIsHeldOut) {
  const TemporaryFolder folder;
  std::string table = "image,labels\n";
  for (int i = 0; i < 200; ++i) {
    folder.write(std::to_string(i) + ".jpg", "");
    table += std::to_string(i) + ".jpg," + (i % 20 == 0 ? "rare often\n" : i % 2 == 0 ? "often\n" : "\n");
  }
  const auto labels = folder.write("labels.txt", table).string();
  const DatasetPair pair = open_labelled_images({.name = "images",
                                                 .directory = folder.string(),
                                                 .task = Task::multilabel,
                                                 .labels = labels,
                                                 .test_fraction = 0.2});
  const auto count = [](const Dataset& dataset, std::size_t label) {
    float sum = 0.0F;
    for (std::uint64_t id = 0; id < dataset.size(); ++id) sum += dataset.targets(id)[label];
    return sum;
  };
  EXPECT_EQ(pair.test->size(), 40U);
  EXPECT_EQ(pair.train->size(), 160U);
  EXPECT_EQ(count(*pair.test, 1), 2.0F);  // rare
  EXPECT_EQ(count(*pair.test, 0), 20.0F);
  EXPECT_EQ(pair.test_origin, "test fraction 0.2");
}

TEST(LabelledImages, ATableForEachPart) {
  const Album album;
  album.add("tables/x");
  album.write("tables/train.csv", "image,sun,sea\na,1,0\nb,0,1\nc,1,1\n");
  album.write("tables/valid.csv", "image,sun,sea\nd,1,0\n");
  album.write("tables/test.csv", "image,sun,sea\ne,1,0\n");
  const DatasetPair pair = album.open("tables");
  EXPECT_EQ(names_in(*pair.train), "a.jpg b.PNG c.jpeg ");
  EXPECT_EQ(names_in(*pair.validation), "d.jpg ");
  EXPECT_EQ(names_in(*pair.test), "e.webp ");
  EXPECT_EQ(pair.validation_origin, (album / "tables/valid.csv").string());
  album.refused(Category::usage, "tables/test.csv exists: omit it", 0.2, "tables");
  album.write("tables/test.csv", "image,sun,sea\na,1,0\n");
  album.refused(Category::data, "test.csv: line 2: image 'a' is named a second time, after line 2 of ", 0.0,
                "tables");
  std::filesystem::remove(album / "tables/test.csv");
  album.refused(Category::data, "1 of 5 images have no row in the tables in ", 0.0, "tables");
  std::filesystem::remove(album / "tables/valid.csv");
  album.refused(Category::usage, "tables: no test.csv there: give --test-fraction 0.2", 0.0, "tables");
  std::filesystem::remove(album / "tables/train.csv");
  album.refused(Category::data, "tables: no train.csv in this folder", 0.0, "tables");
}

TEST(LabelledImages, TablesAndFoldersThatDoNotFit) {
  const Album album;
  const auto with = [&](const std::string& table) {
    album.write("labels.csv", "image,labels\n" + table);
    return "labels.csv: ";
  };
  album.write("labels.csv", all_rows);
  album.refused(Category::usage,
                "no folder test there: give --test-fraction 0.2 to test with a fifth of the");
  with("a.jpg,sun sea\nb,sky\nc,\nd,\n");
  album.refused(Category::data, ": 1 of 5 images have no row in ", 0.2);
  with("a,sun sea\nb,sky\nc,\nd,\ne,\nf.jpg,sun\n");
  album.refused(Category::data, "labels.csv: line 7: no image 'f.jpg' in ", 0.2);
  with("a,sun sea\nb,sky\nc,\nd,\ne,\na,sun\n");
  album.refused(Category::data, "line 7: image 'a' is named a second time, after line 2 of ", 0.2);
  with("a,sun sea\nb,sky\nc,\nd,\ne,\na.jpg,sun\n");
  album.refused(Category::data, "line 7: image 'a.jpg' is named a second time, after line 2 of ", 0.2);
  with("x/a,sun sea\nx/b,sky\n");
  album.refused(Category::data, "labels.csv: none of the 2 images that it names is in ", 0.2);
  album.add("a.png");
  album.write("labels.csv", all_rows);
  EXPECT_THROW(album.open("labels.csv", 0.2), Error);  // no row for a.png
  with("a,sun sea\nb,sky\nc,\nd,\ne,\n");
  album.refused(Category::data, "line 2: 'a' is the name of a.jpg and a.png: add the folder or the extension",
                0.2);
  album.refused(Category::data, "none.csv: cannot open", 0.2, "none.csv");
  const TemporaryFolder empty;
  expect_error(Category::data, {": no images (.jpg, .jpeg, .png or .webp) there"}, [&] {
    open_labelled_images({.directory = empty.string(),
                          .task = Task::multilabel,
                          .labels = (album / "labels.csv").string(),
                          .test_fraction = 0.2});
  });
  expect_error(
      Category::data, {"labels.csv: is not a folder, from which images with several labels are read"},
      [&] { open_labelled_images({.directory = (album / "labels.csv").string(), .labels = "labels.csv"}); });
}

}  // namespace
}  // namespace lockstep
