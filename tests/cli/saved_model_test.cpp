#include "cli/model/saved_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lockstep/models.h"
#include "support/expect_error.h"
#include "support/synthetic.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

/// A model without tensors.
SavedModel model_with(ModelDescription description) {
  const TemporaryFolder folder;
  write_model_file(folder / "m", {}, metadata_of(description));
  return {.file = ModelFile::read(folder / "m"), .description = std::move(description), .place = "m"};
}

SavedModel lenet() {
  return model_with({.network = network_json(*make_model("lenet", {1, 28, 28}, 3)),
                     .shape = {1, 28, 28},
                     .outputs = 3,
                     .classes = {"cat", "cow", "dog"},
                     .input = {.mean = {0.25}, .crop_share = 0.5},
                     .data = {{"dataset", "images"}, {"data-dir", "/pets"}, {"image-size", "28"}},
                     .options = {{"lr", "0.1"}, {"model", "lenet"}, {"batch-size", "64"}}});
}

/// Images with named classes.
test::Synthetic named(const Names& names) {
  test::Synthetic set(12, {1, 28, 28}, static_cast<int>(names.size()));
  set.names = names;
  return set;
}

TEST(SavedModel, LabelsFollowTheNamesOfClasses) {
  const SavedModel model = lenet();
  EXPECT_EQ(relabel(named({"cat", "cow", "dog"}), model), nullptr);
  EXPECT_EQ(relabel(test::Synthetic(12, {1, 28, 28}, 3), model), nullptr) << "it has no names";
  for (const Names& names : {Names{"dog", "cat", "cow"}, {"dog", "cat"}}) {
    const test::Synthetic other = named(names);
    const auto relabelled = relabel(other, model);
    ASSERT_NE(relabelled, nullptr);
    EXPECT_EQ(relabelled->classes(), 3);
    EXPECT_EQ(relabelled->class_names(), model.description.classes);
    for (std::uint64_t id = 0; id < other.size(); ++id) {
      const std::string name = names[static_cast<std::size_t>(other.label(id))];
      EXPECT_EQ(model.description.classes[static_cast<std::size_t>(relabelled->label(id))], name);
    }
  }
  Names many;
  for (int i = 0; i < 14; ++i) many.push_back("c" + std::to_string(i));
  expect_error(Category::data, {"c8, c9 and 4 more; of the model"}, [&] { relabel(named(many), model); });
}

TEST(SavedModel, LabelsAreMatchedByName) {
  const SavedModel model = model_with({.network = network_json(*make_model("lenet", {1, 28, 28}, 3)),
                                       .shape = {1, 28, 28},
                                       .outputs = 3,
                                       .classes = {"sea", "sky", "sun"},
                                       .task = "multilabel"});
  test::Synthetic data =
      named({"sun", "sea"});  // the first label applies to all samples, the second to samples of class 1
  check_task(named({"sun", "sea"}), lenet());
  expect_error(Category::data,
               {"m: is a model of task 'multilabel'; the task of the data set is 'classification'"},
               [&] { check_task(data, model); });
  data.set_task(Task::multilabel);
  check_task(data, model);
  const auto relabelled = relabel(data, model);
  ASSERT_NE(relabelled, nullptr);
  EXPECT_EQ(relabelled->classes(), 3);
  EXPECT_EQ(relabelled->task(), Task::multilabel);
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    const auto targets = relabelled->targets(id);
    EXPECT_EQ(std::vector<float>(targets.begin(), targets.end()),
              (std::vector<float>{data.label(id) == 1 ? 1.0F : 0.0F, 0, 1}));
  }
  test::Synthetic other = named({"sun", "fog"});
  other.set_task(Task::multilabel);
  expect_error(
      Category::data,
      {"the data set has a label 'fog', which m does not know; labels of the data set: sun, fog; of the "
       "model: sea, sky, sun"},
      [&] { relabel(other, model); });
  const SavedModel coast = model_with({.classes = {"calm sea", "sun"}, .task = "multilabel"});
  expect_error(Category::data,
               {"of the model: calm sea, sun; spaces separate the labels of a table without | between them: "
                "write a column of 0 and 1 for each"},
               [&] { relabel(data, coast); });
}

TEST(SavedModel, NetworkIsItsOwnUnlessNamed) {
  const SavedModel model = lenet(), other = model_with({});
  EXPECT_EQ(network_of(model, "", {1, 28, 28}, 0)->classes(), 3);
  EXPECT_EQ(network_of(model, "", {3, 64, 64}, 0)->input_shape(), (Shape{1, 28, 28})) << "it takes no others";
  EXPECT_EQ(network_of(model, "lenet", {1, 28, 28}, 3)->classes(), 3);
  EXPECT_EQ(network_of(other, "mlp", {1, 28, 28}, 7)->classes(), 7);
  expect_error(Category::data, {"m: parameters of another network than 'mlp'"}, [&] {
    network_of(other, "mlp", {1, 28, 28}, 0);
  });
}

TEST(SavedModel, NetworksWithGlobalPoolingTakeOtherSizes) {
  const SavedModel model = model_with({.network = network_json(*make_model("resnet20", {3, 32, 32}, 10)),
                                       .shape = {3, 32, 32},
                                       .outputs = 10});
  EXPECT_EQ(network_of(model, "", {3, 64, 64}, 0)->input_shape(), (Shape{3, 64, 64}));
  EXPECT_EQ(network_of(model, "", {1, 64, 64}, 0)->input_shape(), (Shape{3, 32, 32}));
}

TEST(SavedModel, NumberOfClassesIsThatOfTheFile) {
  const TemporaryFolder folder;
  const std::vector<float> values(256 * 5 + 5);
  const std::vector<NamedTensor> tensors = {{"fc2.weight", {5, 256}, std::span(values).first(256 * 5)},
                                            {"fc2.bias", {5}, std::span(values).first(5)}};
  write_model_file(folder / "m", tensors, {});
  EXPECT_EQ(network_of(open_model(folder / "m", false), "mlp", {1, 4, 4}, 0)->classes(), 5);
}

/// Implied options as "name = value", with an exclamation mark if a different value causes a warning.
std::vector<std::string> implied(const SavedModel& model, const std::string& dataset) {
  std::vector<std::string> texts;
  const auto given = [&](const std::string& name) { return name == "dataset" ? dataset : ""; };
  for (const ImpliedValue& value : implied_by(model, given)) {
    EXPECT_EQ(value.origin, "m");
    texts.push_back(value.name + " = " + value.value + (value.contradicts ? " !" : ""));
  }
  return texts;
}

TEST(SavedModel, ImpliesOptionsOfDataAndInput) {
  using Texts = std::vector<std::string>;
  const Texts of_images = {"dataset = images !", "data-dir = /pets", "image-size = 28 !",
                           "mean = 0.25 !",      "crop-pct = 0.5 !", "batch-size = 64"};
  EXPECT_EQ(implied(lenet(), ""), of_images);
  EXPECT_EQ(implied(lenet(), "images"), of_images);
  EXPECT_EQ(implied(lenet(), "mnist"), (Texts{"mean = 0.25 !", "batch-size = 64"}));
  SavedModel of_labels = lenet();
  of_labels.description.data = {{"dataset", "images"}, {"data-dir", "/pets"}, {"labels", "pets.csv"}};
  const auto implied_labels = [&](const std::string& option, const std::string& value) {
    const std::vector<ImpliedValue> values =
        implied_by(of_labels, [&](const std::string& name) { return name == option ? value : ""; });
    return std::ranges::count(values, std::string("labels"), &ImpliedValue::name);
  };
  EXPECT_EQ(implied_labels("seed", "1"), 1);
  EXPECT_EQ(implied_labels("data-dir", "/other"), 0) << "its folders may name the classes";
  SavedModel of_mnist = lenet();
  of_mnist.description.data = {{"dataset", "mnist"}};
  EXPECT_EQ(implied(of_mnist, "images"), (Texts{"image-size = 28 !", "channels = 1 !", "mean = 0.25 !",
                                                "crop-pct = 0.5 !", "batch-size = 64"}));
  SavedModel of_table = lenet();
  of_table.description.data = {{"dataset", "csv"}};
  of_table.description.table = "{}";
  EXPECT_EQ(implied(of_table, "images"), (Texts{"mean = 0.25 !", "crop-pct = 0.5 !", "batch-size = 64"}))
      << "columns are no size of images";
  EXPECT_EQ(implied(model_with({}), "images"), Texts());
  SavedModel of_other_dtype = lenet();
  of_other_dtype.description.options = {{"dtype", "bf16"}};
  EXPECT_EQ(implied(of_other_dtype, "mnist"), (Texts{"mean = 0.25 !", "dtype = bf16"}));
  of_other_dtype.description.options = {{"dtype", "tf32"}};
  EXPECT_EQ(implied(of_other_dtype, "mnist"), Texts{"mean = 0.25 !"}) << "ranks on CPUs cannot compute in it";
}

TEST(SavedModel, ChangedParametersAreNoticed) {
  EXPECT_EQ(changed_warning({.digest = "xxh3:1"}, "m", "xxh3:1"), "");
  EXPECT_EQ(changed_warning({}, "m", "xxh3:1"), "");
  EXPECT_EQ(changed_warning({.digest = "xxh3:1"}, "m", "xxh3:2"),
            "m: the parameters are not those that were saved, whose digest was xxh3:1");
}

TEST(SavedModel, ChangedMetadataAreNoticed) {
  std::map<std::string, std::string> metadata = {{"classes", "[]"}, {"mean", "[0.5]"}};
  EXPECT_EQ(changed_warning(metadata, "m"), "") << "it has no digest";
  const std::string digest = metadata_digest(metadata);
  metadata[metadata_digest_name] = digest;
  EXPECT_EQ(changed_warning(metadata, "m"), "");
  for (const char* const name : {"mean", "meam"}) {
    std::map<std::string, std::string> changed = metadata;
    changed.erase("mean");
    changed[name] = name == std::string("mean") ? "[0.7]" : "[0.5]";
    EXPECT_EQ(changed_warning(changed, "m"),
              "m: the metadata are not those that were saved, whose digest was " + digest);
  }
}

TEST(SavedModel, ChangedFilesAreNotOpened) {
  const TemporaryFolder folder;
  write_model_file(folder / "m", {}, {{"mean", "[0.5]"}});
  EXPECT_EQ(open_model(folder / "m", false).description.input.mean, std::vector<double>{0.5});
  std::string text = contents(folder / "m");
  text.replace(text.find("[0.5]"), 5, "[0.7]");
  const auto changed = folder.write("changed", text);
  expect_error(Category::data,
               {"changed: the metadata are not those that were saved, whose digest was xxh3:",
                ": it is damaged, or was changed without removing 'digest' and 'metadata_digest' from its"},
               [&] { open_model(changed, false); });
}

}  // namespace
}  // namespace lockstep
