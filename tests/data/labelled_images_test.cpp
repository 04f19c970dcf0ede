// Images with several labels, and the tables that assign labels to files.
#include "data/sets/images/labelled_images.h"

#include <gtest/gtest.h>

#include <optional>

#include "data/sets/images/image_parts.h"
#include "data/sets/images/label_table.h"
#include "data/sets/images/listed_images.h"
#include "data/sets/parts.h"
#include "support/expect_error.h"
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
    expect_error(Category::data, {words}, [&] { check_several_labels(parsed(text)); });
  };
  refused("image,dog,cat\na,1,2\n",
          "t.csv: line 2: column 'cat': '2' is neither 0 nor 1; labels are columns of");
  refused("fname,labels,is_valid\na,cat,True\n", "t.csv: line 2: column 'labels': 'cat' is neither 0 nor 1");
  refused("image,dog,cat\na,1,\n", "t.csv: line 2: column 'cat': '' is neither 0 nor 1");
  refused(",file,dog\n0,a.jpg,1\n1,b.jpg,0\n2,c.jpg,1\n",
          "t.csv: line 4: column 'column1': '2' is neither 0 nor 1; labels are columns of 0 and 1, or one "
          "column of names; beside the images in column 'file' there are column1, dog: leave out the others");
  refused("image,labels\na,cat;;dog\n", "t.csv: line 2: an empty label in 'cat;;dog'");
  refused("image,labels\na,cat|dog\nb,dog|\n", "t.csv: line 3: an empty label in 'dog|'");
  refused("image,labels\n,cat dog\n", "t.csv: line 2: no image in column 'image'");
  refused("image,labels\na,\n", "t.csv: no image has a label");
  refused("image,dog,cat\na,0,0\n", "t.csv: no image has a label");
  refused("image,labels\na,cat\nb,\n",
          "t.csv: only one label, 'cat'; for images that have it and images that do not, use --task "
          "classification");
  refused("image,dog\na,1\nb,0\n", "t.csv: only one label, 'dog'");
  refused("image,dog,dog\na,1,0\n", "t.csv: line 1: two columns are called 'dog'");
  refused("image\na\n",
          "t.csv: line 1: must have a column that names the images, and at least one with their classes");
  refused("image,labels\n", "t.csv: no rows after the header");
  refused("image,labels\na,cat,dog\n", "t.csv: line 2: 3 fields, the header has 2");
  refused("", "t.csv: is empty");
  refused("image,labels\na,c\xff t\n", "t.csv: line 2: column 'labels': a text is not UTF-8");
}

LabelTable classes_in(std::string_view text, const CsvOptions& options = {},
                      const LabelTable* train = nullptr) {
  CsvReader reader(text, "t.csv");
  return read_class_table(reader, options, train);
}

TEST(ClassTable, HasAClassForEachImage) {
  const LabelTable table = classes_in("id,breed\na,pug\nb, big dog \nc,10\nd,9\ne,pug\n");
  EXPECT_EQ(table.labels, (Texts{"10", "9", "big dog", "pug"})) << "the order of folders";
  EXPECT_EQ(table.classes, (std::vector<int>{3, 2, 0, 1, 3}));
  EXPECT_EQ(table.images, (Texts{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(table.targets, Floats());
  const LabelTable train = classes_in("id,breed\na,pug\nb,cat\n");
  EXPECT_EQ(classes_in("id,breed\nc,pug\n", {}, &train).classes, (std::vector<int>{1}));
}

TEST(ClassTable, ColumnsAreFound) {
  const Texts images = {"a", "b"}, files = {"a.jpg", "b.PNG"}, pets = {"cat", "dog"};
  const auto expect = [&](std::string_view text, const Texts& names, const CsvOptions& options) {
    const LabelTable table = classes_in(text, options);
    EXPECT_EQ(table.images, names) << text;
    EXPECT_EQ(table.labels, pets) << text;
    EXPECT_EQ(table.classes, (std::vector<int>{0, 1})) << text;
  };
  expect("id,pet\na,cat\nb,dog\n", images, {});
  expect("id,fold,label\na,0,cat\nb,1,dog\n", images, {});
  expect("label,id\ncat,a\ndog,b\n", images, {});
  expect("pet,file\ncat,a.jpg\ndog,b.PNG\n", files, {});
  expect(",file,label\n0,a.jpg,cat\n1,b.PNG,dog\n", files, {});
  expect("id,pet,fold\na,cat,0\nb,dog,1\n", images, {.label_column = "pet"});
  expect("id,pet,fold\na,cat,0\nb,dog,1\n", images, {.drop_columns = {"fold"}});
  expect(",id,pet\n0,a,cat\n1,b,dog\n", images, {.drop_columns = {"column1"}});
}

TEST(ClassTable, BadTables) {
  const auto refused = [](Category category, const char* text, const char* words, const CsvOptions& options) {
    expect_error(category, {words}, [&] { classes_in(text, options); });
  };
  refused(Category::usage, ",id,pet\n0,a,cat\n1,b,dog\n",
          "label-column: name the column of t.csv with the classes, or leave out columns with "
          "--drop-columns: beside the images in column 'column1' there are id, pet",
          {});
  refused(Category::data, "id,pet,x\na,cat,0\n",
          "t.csv: line 1: unknown label column 'pte'; did you mean 'pet'", {.label_column = "pte"});
  refused(Category::data, "id,pet\na,cat\nb, \n", "t.csv: line 3: no class in column 'pet'", {});
  refused(Category::data, "id,pet\n,cat\n", "t.csv: line 2: no image in column 'id'", {});
  refused(Category::data, "id,pet\na,c\tat\n", "t.csv: class 'c?at' has control characters in its name", {});
  refused(Category::data, "id,pet\n", "t.csv: no rows after the header", {});
  refused(Category::data, "id\na\n", "t.csv: line 1: must have a column that names the images", {});
  const LabelTable train = classes_in("id,pet\na,cat\nb,dog\n");
  expect_error(Category::data, {"t.csv: line 2: unknown class 'dgo'; did you mean 'dog'?"},
               [&] { classes_in("id,pet\nc,dgo\n", {}, &train); });
}

constexpr Shape shape = {.channels = 3, .height = 8, .width = 8};

/// Images a.jpg to e.jpg. The tests use only their names.
struct Album : TemporaryFolder {
  explicit Album(const std::string& folder = "") {
    for (const char* name : {"a.jpg", "b.PNG", "c.jpeg", "d.jpg", "e.webp"}) write(folder + name, "");
  }
  ImageParts list(const std::string& labels, double test_fraction = 0.0) const {
    return list_labelled_images({.directory = string(),
                                 .task = Task::multilabel,
                                 .labels = (*this / labels).string(),
                                 .test_fraction = test_fraction});
  }
  void refused(Category category, const std::string& words, double test_fraction = 0.0,
               const std::string& labels = "labels.csv") const {
    expect_error(category, {words}, [&] { list(labels, test_fraction); });
  }
};

std::string names_in(const ImageList& list) {
  std::string names;
  for (const ImageList::File& file : list.files) {
    names += std::filesystem::path(file.name).filename().string() + " ";
  }
  return names;
}

constexpr const char* all_rows = "image,labels\ne,sun\na.jpg,sun sea\nd,\n./b,sea\nc.jpeg,sky\n";

TEST(LabelledImages, HaveTheOrderOfTheRows) {
  const Album album("train/");
  album.write("labels.csv", std::string(all_rows) + "test/f,sun\n");
  for (const char* name : {"test/f.jpg", "test/.hidden.jpg", "elsewhere/g.jpg"}) album.write(name, "");
  const ImageParts parts = album.list("labels.csv");
  EXPECT_EQ(names_in(parts.train), "e.webp a.jpg d.jpg b.PNG c.jpeg ");
  EXPECT_EQ(names_in(*parts.test), "f.jpg ");
  EXPECT_FALSE(parts.validation);
  EXPECT_EQ(parts.test_origin, (album / "test").string());
  const auto train = make_images(parts.train, shape);
  EXPECT_EQ(train->task(), Task::multilabel);
  EXPECT_EQ(train->classes(), 3);
  EXPECT_EQ(train->class_names(), (Texts{"sea", "sky", "sun"}));
  EXPECT_EQ(train->sample_name(1), (album / "train/a.jpg").string());
  EXPECT_EQ(Floats(train->targets(1).begin(), train->targets(1).end()), (Floats{1, 0, 1}));
  EXPECT_EQ(train->shape(), shape);
  EXPECT_NE(train->fingerprint(), make_images(*parts.test, shape)->fingerprint());
  album.write("labels.csv", "image,labels\ne,sea\na.jpg,sun sea\nd,\nb,sea\nc.jpeg,sky\ntest/f,sun\n");
  EXPECT_NE(make_images(album.list("labels.csv").train, shape)->fingerprint(), train->fingerprint());
}

TEST(LabelledImages, AFractionOfEachLabelIsHeldOut) {
  const TemporaryFolder folder;
  std::string table = "image,labels\n";
  for (int i = 0; i < 200; ++i) {
    folder.write(std::to_string(i) + ".jpg", "");
    table += std::to_string(i) + ".jpg," + (i % 20 == 0 ? "rare often\n" : i % 2 == 0 ? "often\n" : "\n");
  }
  const auto labels = folder.write("labels.txt", table).string();
  const ImageParts parts = list_labelled_images(
      {.directory = folder.string(), .task = Task::multilabel, .labels = labels, .test_fraction = 0.2});
  const auto count = [&](std::size_t label) {
    float sum = 0.0F;
    for (std::size_t i = label; i < parts.test->targets.size(); i += 2) sum += parts.test->targets[i];
    return sum;
  };
  EXPECT_EQ(parts.test->files.size(), 40U);
  EXPECT_EQ(parts.train.files.size(), 160U);
  EXPECT_EQ(count(1), 2.0F);  // rare
  EXPECT_EQ(count(0), 20.0F);
  EXPECT_EQ(parts.test_origin, "test fraction 0.2");
}

TEST(LabelledImages, ATableForEachPart) {
  const Album album;
  album.write("tables/train.csv", "image,sun,sea\na,1,0\nb,0,1\nc,1,1\n");
  album.write("tables/valid.csv", "image,sun,sea\nd,1,0\n");
  album.write("tables/test.csv", "image,sun,sea\ne,1,0\n");
  const ImageParts parts = album.list("tables");
  EXPECT_EQ(names_in(parts.train), "a.jpg b.PNG c.jpeg ");
  EXPECT_EQ(names_in(*parts.validation), "d.jpg ");
  EXPECT_EQ(names_in(*parts.test), "e.webp ");
  EXPECT_EQ(parts.validation_origin, (album / "tables/valid.csv").string());
  album.write("tables/valid.csv", "image,sun,sea\nd,0,0\n");
  album.refused(Category::data, "valid.csv: no image has a label", 0.0, "tables");
  album.write("tables/valid.csv", "image,sun,sea\nd,1,0\n");
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

TEST(LabelledImages, ToMeasureMayHaveOneLabelOrNone) {
  const Album album;
  const auto images_of = [&](const std::string& table) {
    const DatasetOptions options{.directory = album.string(),
                                 .task = Task::multilabel,
                                 .labels = album.write("labels.csv", table).string()};
    return make_images(list_labelled_images(options, DataUse::measuring).train, shape);
  };
  const auto one = images_of("image,labels\na,sea\nb,\nc,\nd,\ne,sea\n");
  EXPECT_EQ(one->class_names(), Texts{"sea"});
  EXPECT_EQ(one->targets(0)[0], 1.0F);
  EXPECT_EQ(one->targets(1)[0], 0.0F);
  album.refused(Category::data, "labels.csv: only one label, 'sea'", 0.2);
  const auto none = images_of("image,sea,sun\na,0,0\nb,0,0\nc,0,0\nd,0,0\ne,0,0\n");
  EXPECT_EQ(none->classes(), 2);
  EXPECT_EQ(none->targets(4)[1], 0.0F);
  album.refused(Category::data, "labels.csv: no image has a label", 0.2);
}

TEST(LabelledImages, TablesAndFoldersThatDoNotFit) {
  const Album album;
  const auto refused = [&](const std::string& rows, const std::string& words) {
    album.write("labels.csv", "image,labels\n" + rows);
    album.refused(Category::data, words, 0.2);
  };
  album.write("labels.csv", all_rows);
  album.refused(Category::usage,
                "no folder test there: give --test-fraction 0.2 to test with a fifth of the");
  refused("a.jpg,sun sea\nb,sky\nc,\nd,\n", ": 1 of 5 images have no row in ");
  refused("a,sun sea\nb,sky\nc,\nd,\ne,\nf.jpg,sun\n", "labels.csv: line 7: no image 'f.jpg' in ");
  refused("a,sun sea\nb,sky\nc,\nd,\ne,\na.jpg,sun\n",
          "line 7: image 'a.jpg' is named a second time, after line 2 of ");
  refused("x/a,sun sea\nx/b,sky\n", "labels.csv: none of the 2 images in column 'image' is in ");
  album.write("a.png", "");
  refused("a,sun sea\nb,sky\nc,\nd,\ne,\n",
          "line 2: 'a' is the name of a.jpg and a.png: add the folder or the extension");
  album.refused(Category::data, "none.csv: cannot open", 0.2, "none.csv");
  const TemporaryFolder empty;
  expect_error(Category::data, {": no images (.jpg, .jpeg, .png or .webp) there"}, [&] {
    list_labelled_images({.directory = empty.string(),
                          .task = Task::multilabel,
                          .labels = (album / "labels.csv").string(),
                          .test_fraction = 0.2});
  });
  expect_error(
      Category::data, {"labels.csv: is not a folder, from which the images of a table are read"},
      [&] { list_labelled_images({.directory = (album / "labels.csv").string(), .labels = "labels.csv"}); });
}

/// 120 images of two classes: in folders named after the classes, and with a table, where every second image
/// is in another folder.
struct ListedPets : TemporaryFolder {
  ListedPets() {
    for (int i = 0; i < 120; ++i) {
      const std::string pet = i % 3 == 0 ? "cat" : "dog", name = std::to_string(i) + ".jpg";
      write("folders/" + pet + "/" + name, "");
      const std::string folder = i % 2 == 0 ? "" : "x/";
      write("flat/" + folder + name, "");
      rows.insert(rows.begin(), folder + std::to_string(i) + "," + pet + "\n");
    }
    write_table("labels.csv", 0, rows.size());
  }
  void write_table(const std::string& name, std::size_t begin, std::size_t end) const {
    std::string table = "id,pet\n";
    for (std::size_t i = begin; i < end; ++i) table += rows[i];
    write(name, table);
  }
  ImageParts listed(const std::string& labels, double test_fraction = 0.25,
                    DataUse use = DataUse::training) const {
    return list_labelled_images({.directory = (*this / "flat").string(),
                                 .labels = (*this / labels).string(),
                                 .test_fraction = test_fraction},
                                use);
  }
  Texts rows;
};

/// Names and classes of a list's files.
Texts files_in(const ImageList& list) {
  Texts names;
  for (const ImageList::File& file : list.files) {
    names.push_back(std::filesystem::path(file.name).filename().string() + " " +
                    list.classes[static_cast<std::size_t>(file.label)]);
  }
  return names;
}

TEST(ImagesWithClasses, AreThoseOfFolders) {
  const ListedPets pets;
  const ImageParts folders = list_image_parts(pets / "folders", 0.25), table = pets.listed("labels.csv");
  EXPECT_EQ(table.train.classes, (Texts{"cat", "dog"}));
  EXPECT_EQ(files_in(table.train), files_in(folders.train));
  EXPECT_EQ(files_in(*table.test), files_in(*folders.test));
  EXPECT_EQ(table.test_origin, "test fraction 0.25");
}

TEST(ImagesWithClasses, ATableForEachPart) {
  const ListedPets pets;
  pets.write_table("tables/train.csv", 0, 80);
  pets.write_table("tables/val.csv", 80, 100);
  pets.write_table("tables/test.csv", 100, 120);
  const ImageParts parts = pets.listed("tables", 0.0);
  EXPECT_EQ(parts.train.files.size(), 80U);
  EXPECT_EQ(parts.validation->files.size(), 20U);
  EXPECT_EQ(parts.test->files.size(), 20U);
  EXPECT_EQ(parts.validation_origin, (pets / "tables/val.csv").string());
  EXPECT_EQ(parts.test_origin, (pets / "tables/test.csv").string());
}

TEST(ImagesWithClasses, TheFingerprintHasTheClasses) {
  const Album album;
  const auto fingerprint = [&](const std::string& rows) {
    album.write("labels.csv", "image,label\n" + rows);
    const ImageParts parts = list_labelled_images(
        {.directory = album.string(), .labels = (album / "labels.csv").string()}, DataUse::measuring);
    return make_images(parts.train, shape)->fingerprint();
  };
  const std::string rows = "a,cat\nc,dog\nd,dog\ne,dog\n";  // b would be between both classes
  EXPECT_EQ(fingerprint("b,cat\n" + rows), fingerprint(rows + "b,cat\n"));
  EXPECT_NE(fingerprint("b,cat\n" + rows), fingerprint("b,dog\n" + rows));
}

TEST(ImagesWithClasses, TablesThatDoNotFit) {
  const ListedPets pets;
  std::string one = "id,pet\n";
  for (int i = 0; i < 120; ++i) one += (i % 2 == 0 ? "" : "x/") + std::to_string(i) + ",cat\n";
  pets.write("one.csv", one);
  expect_error(Category::data, {"one.csv: only one class, 'cat', in all training images"},
               [&] { pets.listed("one.csv"); });
  EXPECT_EQ(pets.listed("one.csv", 0.0, DataUse::measuring).train.files.size(), 120U);
  std::filesystem::create_directories(pets / "flat/train/x");
  std::filesystem::create_directories(pets / "flat/test/x");
  for (int i = 0; i < 120; ++i) {
    const std::string name = (i % 2 == 0 ? "" : "x/") + std::to_string(i) + ".jpg";
    const std::string part = i % 3 == 0 ? "flat/test/" : "flat/train/";
    std::filesystem::rename(pets / ("flat/" + name), pets / (part + name));
  }
  expect_error(Category::data, {"labels.csv: the training images have no class 'cat'"},
               [&] { pets.listed("labels.csv", 0.0); });
}

}  // namespace
}  // namespace lockstep
