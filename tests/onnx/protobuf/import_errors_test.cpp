// Models that are damaged or cannot be expressed as a network.
#include <gtest/gtest.h>
#include <onnx/onnx.pb.h>

#include <functional>
#include <initializer_list>

#include "onnx/import.h"
#include "onnx/protobuf/graph_writer.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep::test {
namespace {

using Extents = std::vector<std::int64_t>;

/// Convolution, ReLU, global pooling and a linear layer, for images of 3x8x8 and 2 classes.
onnx::ModelProto small_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  GraphWriter graph(*model.mutable_graph(), "logits");
  graph.input("input", onnx::TensorProto::FLOAT, Extents{3, 8, 8});
  const std::vector<float> values(4 * 3 * 9, 0.5F);
  const auto weights = [&](const char* name, const Extents& shape, std::size_t count) {
    return graph.constant(name, shape, std::span(values).first(count));
  };
  std::string x =
      graph.add("Conv", "conv", {"input", weights("c.weight", {4, 3, 3, 3}, 108), weights("c.bias", {4}, 4)},
                {{"kernel_shape", Extents{3, 3}}, {"pads", Extents{1, 1, 1, 1}}, {"strides", Extents{1, 1}}});
  x = graph.add("Relu", "relu", {x});
  x = graph.add("GlobalAveragePool", "pool", {x});
  x = graph.add("Flatten", "flatten", {x}, {{"axis", std::int64_t{1}}});
  x = graph.add("Gemm", "head", {x, weights("head.weight", {2, 4}, 8), weights("head.bias", {2}, 2)},
                {{"transB", std::int64_t{1}}});
  graph.output(x, Extents{2});
  return model;
}

onnx::NodeProto& node(onnx::ModelProto& model, const std::string& name) {
  for (onnx::NodeProto& each : *model.mutable_graph()->mutable_node()) {
    if (each.name() == name) return each;
  }
  throw std::out_of_range(name);
}
onnx::AttributeProto& attribute(onnx::ModelProto& model, const std::string& of, const std::string& name) {
  for (onnx::AttributeProto& each : *node(model, of).mutable_attribute()) {
    if (each.name() == name) return each;
  }
  onnx::AttributeProto& added = *node(model, of).add_attribute();
  added.set_name(name);
  return added;
}
void set_integers(onnx::ModelProto& model, const std::string& of, const std::string& name,
                  const Extents& values) {
  onnx::AttributeProto& found = attribute(model, of, name);
  found.clear_ints();
  for (const std::int64_t value : values) found.add_ints(value);
}
onnx::TensorProto& tensor(onnx::ModelProto& model, int number) {
  return *model.mutable_graph()->mutable_initializer(number);
}
onnx::TensorShapeProto& input_shape(onnx::ModelProto& model) {
  return *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
}
void keep_elsewhere(onnx::ModelProto& model, const std::string& location, const std::string& offset) {
  onnx::TensorProto& weights = tensor(model, 0);
  weights.clear_raw_data();
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair{"location", location}, std::pair{"offset", offset}}) {
    onnx::StringStringEntryProto& entry = *weights.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

/// Turns the node "relu" into a product of the images and a matrix filled with `value`. With 1/8, it averages
/// columns as in an adaptive pooling, but the product that averages rows is missing.
void average_columns(onnx::ModelProto& model, float value) {
  node(model, "relu").set_op_type("MatMul");
  node(model, "relu").add_input("columns");
  onnx::TensorProto& matrix = *model.mutable_graph()->add_initializer();
  matrix.set_name("columns");
  matrix.set_data_type(onnx::TensorProto::FLOAT);
  matrix.add_dims(8);
  matrix.add_dims(1);
  for (int i = 0; i < 8; ++i) matrix.add_float_data(value);
}

/// Turns the node "relu" into `operation` with these integers as second input.
void give_numbers(onnx::ModelProto& model, const std::string& operation, const Extents& numbers) {
  node(model, "relu").set_op_type(operation);
  node(model, "relu").add_input("numbers");
  onnx::TensorProto& added = *model.mutable_graph()->add_initializer();
  added.set_name("numbers");
  added.set_data_type(onnx::TensorProto::INT64);
  added.add_dims(static_cast<std::int64_t>(numbers.size()));
  for (const std::int64_t number : numbers) added.add_int64_data(number);
}

OnnxImport import_model(const onnx::ModelProto& model, const OnnxImportOptions& options = {},
                        const std::string& file = "m.onnx") {
  const std::string bytes = model.SerializeAsString();
  return parse_onnx(std::as_bytes(std::span(bytes)), file, options);
}

TEST(OnnxImport, OfTheSmallModelWorks) {
  const OnnxImport imported = import_model(small_model());
  EXPECT_EQ(imported.network->layers().size(), 6U);
  EXPECT_EQ(imported.network->classes(), 2);
  EXPECT_EQ(imported.weights.size(), 4U);
}

using Change = std::function<void(onnx::ModelProto&)>;

/// A change to small_model(), and parts of the error message that it must cause.
struct Refused {
  Change change;
  std::vector<std::string> parts;
};

void expect_refused(std::initializer_list<Refused> rows) {
  for (const auto& [change, parts] : rows) {
    onnx::ModelProto model = small_model();
    change(model);
    expect_error(Category::data, parts, [&] { import_model(model); });
  }
}

/// A change that sets an integer-list attribute of a node.
Change integers(const std::string& of, const std::string& name, const Extents& values) {
  return [=](onnx::ModelProto& model) { set_integers(model, of, name, values); };
}

TEST(OnnxImport, RefusesWhatANetworkCannotExpress) {
  expect_refused({
      {[](auto& m) { node(m, "relu").set_op_type("Tanh"); },
       {"m.onnx: node 'relu' (Tanh): this operator is not supported; docs/onnx.md"}},
      {[](auto& m) { node(m, "relu").set_domain("com.microsoft"); },
       {"node 'relu' (Relu): this operator of the domain 'com.microsoft' is not supported"}},
      {integers("conv", "pads", {0, 0, 1, 1}),
       {"node 'conv' (Conv): pads is 0,0,1,1: only 4 equal numbers are supported"}},
      {integers("conv", "strides", {-1, -1}), {"strides is -1, not from 0 to 4096"}},
      {integers("conv", "strides", {}), {"strides is : only 2 equal numbers"}},
      {integers("conv", "dilations", {9, 9}),
       {"node 'conv' (Conv)", "a window of 19 does not fit into 10 pixels"}},
      {[](auto& m) { attribute(m, "conv", "group").set_i(2); }, {"its weights are for 6 channels, not 3"}},
      {[](auto& m) { attribute(m, "conv", "group").set_i(0); }, {"0 features or channels are not from 1"}},
      {[](auto& m) {
         attribute(m, "conv", "auto_pad").set_s("SAME_UPPER");
         set_integers(m, "conv", "strides", {2, 2});
       },
       {"auto_pad 'SAME_UPPER' with this window would pad its sides differently"}},
      {[](auto& m) {
         tensor(m, 0).set_dims(3, 1);
         tensor(m, 0).set_dims(1, 9);
       },
       {"only two-dimensional convolutions with square windows"}},
      {[](auto& m) { tensor(m, 1).set_dims(0, 2); }, {"'c.bias' is [2], not [4]"}},
      {[](auto& m) { attribute(m, "head", "alpha").set_f(2.0F); }, {"alpha and beta other than 1"}},
      {[](auto& m) { node(m, "head").set_input(1, "c.bias"); }, {"node 'head' (Gemm)", "a matrix only"}},
      {[](auto& m) { average_columns(m, 0.5F); }, {"node 'relu' (MatMul): is supported for [batch"}},
      {[](auto& m) { average_columns(m, 0.125F); }, {"node 'relu' (MatMul): is supported for [batch"}},
      {[](auto& m) { node(m, "relu").set_op_type("Softmax"); }, {"is supported as the last node only"}},
      {[](auto& m) { node(m, "relu").set_op_type("Clip"); }, {"only min 0 and max 6 are supported"}},
      {[](auto& m) { node(m, "relu").set_op_type("Sigmoid"); },
       {"node 'relu' (Sigmoid): this operator is supported as a part of SiLU"}},
      {[](auto& m) { node(m, "relu").set_op_type("ReduceMean"); }, {"only the mean over all pixels"}},
      {[](auto& m) { node(m, "relu").set_input(0, "c.bias"); },
       {"node 'relu' (Relu): input 1 is a constant"}},
      {[](auto& m) { node(m, "conv").set_input(1, "input"); },
       {"node 'conv' (Conv): input 2 is not a constant"}},
      {[](auto& m) {
         node(m, "relu").set_op_type("Add");
         node(m, "relu").add_input("c.bias");
       },
       {"constants are supported as bias of a convolution"}},
      {[](auto& m) { give_numbers(m, "CastLike", {0}); },
       {"node 'relu' (CastLike): converts to another type than float"}},
      {[](auto& m) {
         give_numbers(m, "Pad", {0, 0, 1, 2, 0, 0, 1, 2});
       },
       {"node 'relu' (Pad): only the same number of zeros on all sides"}},
      {[](auto& m) {
         give_numbers(m, "Pad", {0, 0, 1, 1, 0, 0, 1, 1});
       },
       {"node 'relu' (Pad): this operator is supported before AveragePool only"}},
      {[](auto& m) {
         give_numbers(m, "Pad", {0, 0, 1, 1, 0, 0, 1, 1});
         node(m, "pool").set_op_type("AveragePool");
         set_integers(m, "pool", "kernel_shape", {3, 3});
         set_integers(m, "pool", "pads", {1, 1, 1, 1});
       },
       {"node 'pool' (AveragePool): padding and ceil_mode after a Pad node are not supported"}},
      {[](auto& m) { attribute(m, "flatten", "axis").set_i(2); }, {"node 'flatten' (Flatten): axis 2"}},
      {[](auto& m) { m.mutable_graph()->mutable_output(0)->set_name("conv"); },
       {"output 'conv' has 4x8x8 values, but a classifier gives one number per class"}},
      {[](auto& m) { m.mutable_graph()->mutable_output(0)->set_name("c.bias"); },
       {"output 'c.bias' is not the result of a layer"}},
      {[](auto& m) { m.mutable_graph()->mutable_output(0)->set_name("input"); },
       {"output 'input' is not the result of a layer"}},
  });
}

TEST(OnnxImport, RefusesDamagedModels) {
  expect_refused({
      {[](auto& m) { m.mutable_graph()->clear_node(); }, {"m.onnx: is not an ONNX model: it has no nodes"}},
      {[](auto& m) { m.mutable_graph()->clear_output(); }, {"m.onnx: has no output"}},
      {[](auto& m) { m.mutable_graph()->clear_input(); }, {"m.onnx: has no input"}},
      {[](auto& m) {
         *m.mutable_graph()->add_input() = m.graph().input(0);
         m.mutable_graph()->mutable_input(1)->set_name("b");
       },
       {"has several inputs"}},
      {[](auto& m) { node(m, "relu").set_input(0, "none"); },
       {"node 'relu' (Relu): no node before it gives its input 'none'"}},
      {[](auto& m) { node(m, "relu").set_input(0, "logits"); },
       {"no node before it gives its input 'logits'"}},
      {[](auto& m) { node(m, "relu").set_input(0, "relu"); }, {"no node before it gives its input 'relu'"}},
      {[](auto& m) { node(m, "relu").clear_input(); }, {"node 'relu' (Relu): input 1 is missing"}},
      {[](auto& m) {
         node(m, "relu").set_output(0, "conv");
         node(m, "pool").set_input(0, "conv");
       },
       {"m.onnx: two tensors are called 'conv'"}},
      {[](auto& m) {
         node(m, "conv").set_output(0, "input");
         node(m, "relu").set_input(0, "input");
       },
       {"two tensors are called 'input'"}},
      {[](auto& m) { *m.mutable_graph()->add_initializer() = tensor(m, 1); },
       {"m.onnx: two tensors are called 'c.bias'"}},
      {[](auto& m) { *node(m, "conv").add_attribute() = attribute(m, "conv", "pads"); },
       {"node 'conv' (Conv): has the attribute pads twice"}},
      {integers("conv", "kernel_shape", {5, 5}),
       {"node 'conv' (Conv): 'c.weight' is [4,3,3,3], not [4,3,5,5]"}},
      {[](auto& m) {
         node(m, "head").set_name("a\nb");
         node(m, "relu").set_name(std::string(300, 'x'));
         tensor(m, 2).clear_dims();
       },
       {"node 'a?b' (Gemm)"}},
      {[](auto& m) { tensor(m, 0).mutable_raw_data()->pop_back(); },
       {"tensor 'c.weight': has 431 bytes, but its shape needs 432"}},
      {[](auto& m) { tensor(m, 0).add_float_data(1.0F); },
       {"tensor 'c.weight': has 1 value, but its shape needs 108"}},
      {[](auto& m) { tensor(m, 0).set_data_type(onnx::TensorProto::FLOAT16); },
       {"tensor 'c.weight': has another type than float"}},
      {[](auto& m) { tensor(m, 0).set_dims(0, -4); }, {"tensor 'c.weight': a dimension is -4"}},
      {[](auto& m) {
         for (int i = 0; i < 3; ++i) tensor(m, 0).set_dims(i, 1LL << 30);
       },
       {"tensor 'c.weight': has too many values"}},
      {[](auto& m) {
         for (int i = 0; i < 4; ++i) tensor(m, 0).set_dims(i, 1LL << 32);
       },
       {"tensor 'c.weight': has too many values"}},
      {[](auto& m) {
         for (int i = 1; i < 4; ++i) input_shape(m).mutable_dim(i)->set_dim_value(1 << 28);
       },
       {"m.onnx: input 'input' has too many values"}},
      {[](auto& m) { keep_elsewhere(m, "none.data", "0"); }, {"none.data"}},
      {[](auto& m) { keep_elsewhere(m, "../m.data", "0"); },
       {"tensor 'c.weight': its values are in '../m.data', which is not the name of a file"}},
      {[](auto& m) { keep_elsewhere(m, "/etc/passwd", "0"); }, {"which is not the name of a file"}},
      {[](auto& m) { keep_elsewhere(m, "", "0"); }, {"which is not the name of a file"}},
      {[](auto& m) { keep_elsewhere(m, "m.data", "-1"); }, {"its offset or length in 'm.data' does not fit"}},
  });
}

TEST(OnnxImport, ReadsWeightsBesideTheModel) {
  const TemporaryFolder folder;
  onnx::ModelProto model = small_model();
  const std::string weights = "12345678" + tensor(model, 0).raw_data();
  keep_elsewhere(model, "m.data", "8");
  const std::string file = (folder / "m.onnx").string();
  folder.write("m.data", weights);
  EXPECT_EQ(import_model(model, {}, file).weights, import_model(small_model()).weights);
  folder.write("m.data", weights.substr(1));
  expect_error(Category::data, {"'m.data' ends before its values"}, [&] { import_model(model, {}, file); });
  EXPECT_TRUE(import_model(model, {.weights = false}, file).weights.empty());
}

TEST(OnnxImport, FilesThatAreNoModelsAreRefused) {
  const TemporaryFolder folder;
  const std::string bytes = small_model().SerializeAsString();
  const std::string damaged = "is not an ONNX model, or is damaged";
  const std::pair<std::string, std::string> rows[] = {
      {"{\"layers\": []}\n", "a JSON text, not an ONNX model"},
      {"", "an empty file, not an ONNX model"},
      {bytes.substr(0, bytes.size() / 2), damaged},
      {std::string(1000, '\xff'), damaged},
      {std::string("\x08\x08", 2), "is not an ONNX model: it has no nodes"}};
  for (const auto& [text, reason] : rows) {
    folder.write("m.onnx", text);
    expect_error(Category::data, {"m.onnx: " + reason}, [&] { import_onnx(folder / "m.onnx", {}); });
  }
  expect_error(Category::data, {"none.onnx"}, [&] { import_onnx(folder / "none.onnx", {}); });
}

TEST(OnnxImport, TakesTheSizeOfSamplesFromOptions) {
  onnx::ModelProto model = small_model();
  for (const int i : {2, 3}) input_shape(model).mutable_dim(i)->set_dim_param("size");
  expect_error(Category::data, {"input 'input' has no fixed size: give the size of the samples with --input"},
               [&] { import_model(model); });
  EXPECT_EQ(import_model(model, {.input = Shape{3, 16, 9}}).network->input_shape(), (Shape{3, 16, 9}));
  expect_error(Category::data, {"its weights are for 3 channels, not 1"}, [&] {
    import_model(model, {.input = Shape{1, 16, 9}});
  });
}

}  // namespace
}  // namespace lockstep::test
