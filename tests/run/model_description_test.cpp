#include "lockstep/model_description.h"

#include <gtest/gtest.h>

#include <utility>

#include "graph/summary.h"
#include "lockstep/models.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Metadata = std::map<std::string, std::string>;

/// Model file without tensors.
ModelFile file_with(const Metadata& metadata) {
  const TemporaryFolder folder;
  const auto file = folder / "m.safetensors";
  write_model_file(file, {}, metadata);
  const std::string bytes = contents(file);
  const auto all = std::as_bytes(std::span(bytes));
  return ModelFile::parse({all.begin(), all.end()}, "m.safetensors");
}

ModelDescription example() {
  return {.network = network_json(*make_model("lenet", {1, 28, 28}, 3)),
          .shape = {1, 28, 28},
          .outputs = 3,
          .classes = {"cat, \"big\"", "d\xc3\xb6g", "\xff\xfe"},
          .target_scale = {.mean = 1.0 / 3.0, .deviation = 2.5},
          .input = {.mean = {1.0 / 3.0}, .deviation = {0.25}, .crop_share = 0.9},
          .table = R"({"columns": []})",
          .data = {{"dataset", "images"}, {"data-dir", "/data/\xff"}},
          .options = {{"lr", "0.1"}, {"model", "lenet"}},
          .results = {{"epoch", "3"}, {"test_accuracy", "0.75"}},
          .version = "1.2.3",
          .digest = "xxh3:0"};
}

TEST(ModelDescription, IsReadAsItWasWritten) {
  const ModelDescription expected = example();
  Metadata metadata = metadata_of(expected);
  metadata.insert({{"format", "pt"}, {"producer", "lockstep"}, {"mine", "{"}});
  const ModelDescription found = description_of(file_with(metadata));
  visit(expected, [&, names = metadata_of(found)](const auto&, const Field& field) {
    EXPECT_EQ(names.at(field.name), metadata.at(field.name)) << field.name;
  });
  EXPECT_EQ(found.network, expected.network);
  EXPECT_EQ(found.shape, expected.shape);
  EXPECT_EQ(found.classes, expected.classes);
  EXPECT_EQ(found.target_scale, expected.target_scale);
  EXPECT_EQ(found.input, expected.input);
  EXPECT_EQ(found.data, expected.data);
  EXPECT_EQ(found.results, expected.results);
  EXPECT_EQ(fingerprint(*make_network(found, "m")), fingerprint(*make_model("lenet", {1, 28, 28}, 3)));
}

TEST(ModelDescription, EntriesAreTextsThatOthersRead) {
  const Metadata metadata = metadata_of(example());
  EXPECT_EQ(metadata.at("input_shape"), "[1,28,28]");
  EXPECT_EQ(metadata.at("classes"), "[\"cat, \\\"big\\\"\",\"d\xc3\xb6g\",[255,254]]");
  EXPECT_EQ(metadata.at("std"), "[0.25]");
  EXPECT_EQ(metadata.at("crop_pct"), "0.9");
  EXPECT_EQ(metadata.at("task"), "classification");
  EXPECT_EQ(metadata.at("target_scale"), "{\"mean\":0.3333333333333333,\"deviation\":2.5}");
  EXPECT_EQ(metadata.at("test_accuracy"), "0.75");
  EXPECT_TRUE(metadata.at("network").starts_with("{\n  \"layers\": ["));
}

TEST(ModelDescription, OtherFilesLackIt) {
  const ModelDescription found = description_of(file_with({{"format", "pt"}}));
  EXPECT_EQ(found.network, "");
  EXPECT_EQ(found.outputs, 0);
  EXPECT_EQ(metadata_of(found), (Metadata{{"task", "classification"}}));
  expect_error(Category::data, {"m: does not contain its network"}, [&] { make_network(found, "m"); });
}

/// A network file may have a fixed number of outputs, larger than the number of classes in the data.
TEST(ModelDescription, ClassesMayBeFewerThanOutputs) {
  EXPECT_EQ(description_of(file_with({{"classes", "[\"a\"]"}, {"outputs", "2"}})).classes, Names{"a"});
}

TEST(ModelDescription, DamagedEntriesAreNamed) {
  const Metadata::value_type own{"lockstep_version", "0.1.0"};  // entries of other programs are not checked
  EXPECT_EQ(description_of(file_with({{"task", "regressiom"}})).task, "classification");
  const std::pair<Metadata, const char*> rows[] = {
      {{{"input_shape", "[1,28]"}},
       "m.safetensors: metadata 'input_shape':1: must be channels, rows and columns"},
      {{{"input_shape", "[1,28,0]"}}, "must be channels, rows and columns"},
      {{{"input_shape", "[1,28,1e99]"}}, "metadata 'input_shape'"},
      {{{"outputs", "-1"}}, "metadata 'outputs'"},
      {{{"classes", "cat,dog"}}, "metadata 'classes'"},
      {{{"classes", "{}"}}, "must be a list of names"},
      {{{"mean", "[\"a\"]"}}, "metadata 'mean'"},
      {{{"dataset", "[]"}}, "metadata 'dataset'"},
      {{{"target_scale", "{\"mean\": 1}"}}, "metadata 'target_scale':1: deviation is missing"},
      {{{"target_scale", "{\"mean\": 1, \"deviation\": 0}"}}, "deviation must be above 0"},
      {{own, {"std", "[0.5,0]"}}, "m.safetensors: metadata 'std': '0' is out of range: above 0, finite"},
      {{own, {"crop_pct", "1.5"}}, "metadata 'crop_pct': '1.5' is out of range"},
      {{own, {"input_shape", "[3,8,8]"}, {"mean", "[0.5,0.5]"}}, "metadata 'mean': 2 numbers for 3 channels"},
      {{own, {"task", "regressiom"}},
       "metadata 'task': unknown task 'regressiom'; did you mean 'regression'?"},
      {{own, {"classes", "[\"a\",\"b\"]"}, {"outputs", "1"}}, "metadata 'classes': 2 names for 1 output"},
      {{own, {"classes", "[\"a\"]"}, {"outputs", "2"}, {"task", "multilabel"}}, "1 name for 2 outputs"},
  };
  for (const auto& row : rows) {
    expect_error(Category::data, {"m.safetensors", row.second},
                 [&] { description_of(file_with(row.first)); });
  }
  ModelDescription damaged = example();
  damaged.network = "{\"layers\": [{\"op\": \"conv\"}]}";
  expect_error(Category::data, {"m: metadata 'network':1: conv: unknown op 'conv'"},
               [&] { make_network(damaged, "m"); });
}

}  // namespace
}  // namespace lockstep
