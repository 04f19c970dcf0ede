#include "models/json/json_network.h"

#include <gtest/gtest.h>

#include "graph/summary.h"
#include "lockstep/models.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

constexpr Shape input = {1, 28, 28};
constexpr int classes = 10;
const std::string examples = LOCKSTEP_TEST_DATA "/../examples/networks/";

std::unique_ptr<Network> parse(const std::string& text) {
  return parse_network(text, "net.json", input, classes);
}

/// Network file with one layer per line from line 2 on, followed by flatten and a linear layer.
std::string file_of(const std::vector<std::string>& layers) {
  std::string text = "{\"layers\": [\n";
  for (const std::string& layer : layers) text += layer + ",\n";
  return text + "{\"op\": \"flatten\"},\n{\"op\": \"linear\", \"features\": \"classes\"}]}\n";
}

std::vector<std::string> parameter_names(const Network& network) {
  std::vector<std::string> names;
  for (const Parameter& parameter : network.parameters()) names.push_back(parameter.name);
  return names;
}

TEST(JsonNetwork, LenetIsTheBuiltInOne) {
  EXPECT_EQ(fingerprint(*make_model(examples + "lenet.json", input, classes)),
            fingerprint(*make_model("lenet", input, classes)));
}

TEST(JsonNetwork, GroupsRepeatAndNestNames) {
  const auto network = make_model(examples + "residual.json", input, classes);
  const std::vector<std::string> names = parameter_names(*network);
  for (const char* name : {"conv1.weight", "layer1.0.conv1.weight", "layer1.1.bn2.running_var",
                           "layer2.conv3.weight", "fc.bias"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  const auto& layers = network->layers();
  const auto named = [&](const std::string& name) {
    return std::find_if(layers.begin(), layers.end(), [&](const auto& layer) { return layer.name == name; });
  };
  const auto id = [&](const std::string& name) { return static_cast<int>(named(name) - layers.begin()); };
  // The first block adds the group's input, the second block adds the first block's output.
  EXPECT_EQ(named("add1")->inputs, (std::vector<int>{id("layer1.0.bn2"), id("relu1")}));
  EXPECT_EQ(named("add2")->inputs, (std::vector<int>{id("layer1.1.bn2"), id("relu3")}));
  EXPECT_EQ(named("layer2.conv3")->inputs, std::vector<int>{id("relu5")});
}

TEST(JsonNetwork, EveryOperationAndOption) {
  const auto network = parse(file_of({
      R"({"op": "conv2d", "name": "c", "channels": 4, "kernel": 3, "stride": 2, "padding": 2, "dilation": 2,
          "bias": false, "weight": {"uniform": 0.5}})",
      R"({"op": "batch_norm2d", "name": "b", "eps": 0.001, "momentum": 1})",
      R"({"op": "conv2d", "channels": 4, "groups": 4, "weight": "zeros"})",
      R"({"op": "silu", "name": "s"})",
      R"({"op": "max_pool2d", "kernel": 3, "stride": 1, "padding": 1, "ceil_mode": true, "input": "c"})",
      R"({"op": "gelu", "name": "g"})",
      R"({"op": "avg_pool2d", "kernel": 3, "stride": 1, "padding": 1, "count_include_pad": false, "input": "b"})",
      R"({"op": "relu6", "name": "r"})",
      R"({"op": "concat", "inputs": ["s", "g", "r"]})",
      R"({"op": "relu"})",
      R"({"op": "dropout", "p": 0.25})",
      R"({"op": "group_norm", "groups": 3, "eps": 0.01})",
      R"({"op": "adaptive_avg_pool2d", "size": 3})",
  }));
  const auto& conv = std::get<Conv2d>(network->layers()[1].operation);
  EXPECT_EQ(network->layers()[1].shape, (Shape{4, 14, 14}));
  EXPECT_EQ(conv.dilation, 2);
  EXPECT_FALSE(conv.bias);
  EXPECT_EQ(network->parameters()[0].initializer.scale, 0.5);
  EXPECT_EQ(std::get<BatchNorm2d>(network->layers()[2].operation).eps, 0.001);
  EXPECT_EQ(network->parameters()[3].statistic_momentum, 1.0);
  EXPECT_FALSE(std::get<AvgPool2d>(network->layers()[7].operation).count_include_pad);
  EXPECT_EQ(network->layers()[9].shape.channels, 12);
  EXPECT_EQ(std::get<GroupNorm>(network->layers()[12].operation).groups, 3);
  EXPECT_EQ(network->layers()[13].shape, (Shape{12, 3, 3}));
}

TEST(JsonNetwork, NumberedNamesPassOverThoseThatAreTaken) {
  const auto network =
      parse(file_of({R"({"op": "conv2d", "channels": 1, "name": "conv2"})",
                     R"({"op": "conv2d", "channels": 1})", R"({"op": "conv2d", "channels": 1})"}));
  EXPECT_EQ(network->layers()[2].name, "conv3");
  EXPECT_EQ(network->layers()[3].name, "conv4");
}

TEST(JsonNetwork, LayersWithoutParametersKeepTheirNames) {
  const auto network = parse(file_of(
      {R"({"op": "relu", "name": "start"})",
       R"({"name": "g", "repeat": 2, "layers": [{"op": "add", "name": "sum", "inputs": ["start", "input"]}]})",
       R"({"op": "max_pool2d"})"}));
  const auto& layers = network->layers();
  EXPECT_EQ(layers[1].name, "start");
  EXPECT_EQ(layers[2].name, "g.0.sum");
  EXPECT_EQ(layers[3].name, "g.1.sum");
  EXPECT_EQ(layers[4].name, "max_pool1");
}

/// Parameter names depend only on layers with parameters, and an unnamed group may be repeated.
TEST(JsonNetwork, LayersWithoutParametersTakeNoNamesFromOthers) {
  const auto network = parse(
      file_of({R"({"op": "relu", "name": "conv1"})",
               R"({"repeat": 2, "layers": [{"op": "relu", "name": "a"}, {"op": "conv2d", "channels": 1}]})",
               R"({"layers": [{"op": "conv2d", "name": "a", "channels": 1}]})"}));
  EXPECT_EQ(parameter_names(*network),
            (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "a.weight",
                                      "a.bias", "fc1.weight", "fc1.bias"}));
  EXPECT_EQ(network->layers()[4].name, "a");
}

/// Expects equal layers, options, inputs, parameters and initial values after writing the network to a file
/// and reading it back.
void expect_written(const Network& network, const std::string& what) {
  const std::string json = network_json(network);
  const auto again = parse_network(json, what, network.input_shape(), network.classes());
  EXPECT_EQ(fingerprint(*again), fingerprint(network)) << what << "\n" << json;
  EXPECT_EQ(network_json(*again), json) << what;
}

TEST(NetworkWriter, WritesEveryModel) {
  for (const std::string& model : model_names()) {
    const bool small = model == "lenet" || model == "resnet20" || model == "resnet18-d2l";
    expect_written(*make_model(model, small ? Shape{1, 28, 28} : Shape{3, 224, 224}, 10), model);
  }
  expect_written(*make_model("mlp:64,32", {7, 1, 1}, 3), "mlp:64,32");
}

TEST(NetworkWriter, WritesWhatFilesDescribe) {
  for (const char* file : {"../examples/networks/lenet.json", "../examples/networks/residual.json",
                           "golden/networks/group_norm.json", "golden/networks/operations.json"}) {
    expect_written(*make_model(std::string(LOCKSTEP_TEST_DATA "/") + file, {3, 28, 28}, 10), file);
  }
}

/// Layers without parameters have the same name in each repetition of an unnamed group.
TEST(NetworkWriter, WritesRepeatedNames) {
  expect_written(
      *parse(
          file_of({R"({"repeat": 2, "layers": [{"op": "conv2d", "channels": 1}, {"op": "relu", "name": "a"},
                          {"op": "add", "inputs": ["a", "input"]}]})",
                   R"({"layers": [{"op": "conv2d", "name": "a", "channels": 1}]})"})),
      "repeated");
}

/// A network built in C++ may have layers with equal names, and options that files cannot set.
TEST(NetworkWriter, WritesWhatOnlyProgramsBuild) {
  Network network({2, 8, 8});
  const Value x = network.input();
  const Value a = network.add(Activation{}, {x}, "same");
  const Value b = network.add(Activation{Activation::Kind::gelu}, {x}, "same");
  const Value c =
      conv2d(concat({a, b, x}), {.channels = 4, .weight = Initializer::uniform(0.1), .name = "same"});
  const Value d = batch_norm2d(c, {.eps = 1.0 / 3.0, .weight = Initializer::zeros()});
  const Value e = group_norm(d, {.groups = 2, .weight = Initializer::normal(1e-9)});
  const Value f = max_pool2d(avg_pool2d(e, {.kernel = 3, .stride = 1}), {.kernel = 2, .stride = 2});
  network.output(linear(flatten(f + f), 5));
  const auto again = parse_network(network_json(network), "net.json", {2, 8, 8}, 5);
  EXPECT_EQ(parameter_names(*again), parameter_names(network));
  for (std::size_t i = 0; i < network.parameters().size(); ++i) {
    EXPECT_EQ(again->parameters()[i].initializer.kind, network.parameters()[i].initializer.kind);
    EXPECT_EQ(again->parameters()[i].initializer.scale, network.parameters()[i].initializer.scale);
  }
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    EXPECT_EQ(again->layers()[i].inputs, network.layers()[i].inputs) << i;
    EXPECT_EQ(again->layers()[i].shape, network.layers()[i].shape) << i;
  }
  EXPECT_EQ(parse_network(network_json(network), "net.json", {2, 8, 8}, 3)->classes(), 3);
}

TEST(NetworkWriter, RefusesWhatFilesCannotDescribe) {
  Network network({1, 1, 1});
  expect_error(Category::usage, {"the network has no output"}, [&] { network_json(network); });
  const Value x = linear(network.input(), 2);
  network.output(linear(x, 3));
  relu(x);
  expect_error(Category::usage, {"layer 'relu1': nothing reads it"}, [&] { network_json(network); });

  Network named({1, 1, 1});
  named.output(linear(named.input(), {.features = 2, .name = "input"}));
  expect_error(Category::usage, {"layer 'input': its name cannot be written"}, [&] { network_json(named); });
}

struct Mistake {
  std::vector<std::string> layers;
  std::vector<std::string> message;
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, NameLineAndLayer) {
  expect_error(Category::usage, GetParam().message, [] { parse(file_of(GetParam().layers)); });
}

const std::vector<Mistake> mistakes = {
    {{R"({"op": "relu"})", R"({"op": "conv2"})"},
     {"net.json:3: conv2: unknown op 'conv2'; did you mean 'conv2d'? known: adaptive_avg_pool2d"}},
    {{R"({"name": "a"})"}, {"net.json:2: layer 'a': op is missing; known: adaptive"}},
    {{R"({"op": "conv2d", "name": "c", "chanels": 3})"},
     {"net.json:2: conv2d 'c': unknown option 'chanels'; did you mean 'channels'?"}},
    {{"{\"op\": \"max_pool2d\",\n\"kernel\": 2,\n\"size\": 2}"},
     {"net.json:4: max_pool2d: unknown option 'size'"}},
    {{R"({"op": "conv2d", "kernel": 3})"}, {"net.json:2: conv2d: channels is missing"}},
    {{R"({"op": "linear"})"}, {"net.json:2: linear: features is missing"}},
    {{R"({"op": "linear", "features": "clases"})"},
     {"net.json:2: linear: features must be a whole number or \"classes\""}},
    {{R"({"op": "linear", "features": 0})"}, {"features must be from 1 to 1048576, not 0"}},
    {{"{\"op\": \"conv2d\",\n\"channels\":\n \"3\"}"},
     {"net.json:3: conv2d: channels must be a whole number"}},
    {{R"({"op": "conv2d", "channels": 3.5})"}, {":2: conv2d: channels must be a whole number"}},
    {{R"({"op": "conv2d", "channels": 3, "kernel": 1000000})"}, {"kernel must be from 1 to 4096"}},
    {{R"({"op": "conv2d", "channels": 18446744073709551615})"},
     {"channels must be from 1 to 1048576, not 18446744073709551615"}},
    {{R"({"op": "conv2d", "channels": 3, "bias": 1})"}, {"bias must be true or false"}},
    {{R"({"op": "conv2d", "channels": 3, "weight": "kaiming"})"}, {"weight must be \"standard\""}},
    {{R"({"op": "conv2d", "channels": 3, "weight": {"normal": -1}})"}, {"weight must be"}},
    {{R"({"op": "dropout", "p": "x"})"}, {":2: dropout: p must be a number"}},
    {{R"({"op": "dropout", "p": 1})"}, {"net.json:2: layer dropout1: the probability"}},
    {{R"({"op": "conv2d", "channels": 6})", R"({"op": "group_norm", "groups": 4})"},
     {"net.json:3: layer gn1: 4 groups do not divide 6 channels"}},
    {{R"({"op": "batch_norm2d", "weight": "he_fan_out"})"},
     {"net.json:2: layer bn1: weight of a normalization cannot begin as he_fan_out"}},
    {{R"({"op": "batch_norm2d", "eps": 1e-40})"},
     {"net.json:2: layer bn1: eps 1e-40 must be at least 1.2e-38"}},
    {{R"({"op": "group_norm", "groups": 1, "eps": 0})"}, {"net.json:2: layer gn1: eps 0 must be at least"}},
    {{R"({"op": "batch_norm2d", "momentum": 2})"}, {"net.json:2: layer bn1: momentum 2 must be in (0, 1]"}},
    {{R"({"op": "group_norm"})"}, {"net.json:2: group_norm: groups is missing"}},
    {{R"({"op": 3})"}, {":2: layer: op must be a text"}},
    {{R"({"op": "relu", "name": ""})"}, {"name must have 1 to 100 printable characters"}},
    {{R"({"op": "relu", "name": "a\nb"})"}, {"name must have 1 to 100 printable characters"}},
    {{R"({"op": "relu", "name": "input"})"}, {":2: relu 'input': the name 'input' is taken"}},
    {{R"({"op": "relu", "name": "a"})", R"({"op": "relu", "name": "a"})"},
     {":3: relu 'a': the name 'a' is taken"}},
    {{R"({"op": "conv2d", "channels": 1})", R"({"op": "conv2d", "channels": 1, "name": "conv1"})"},
     {":3: layer conv1: this name is taken by another layer"}},
    {{R"({"op": "relu", "name": "stem"})", R"({"op": "relu", "input": "sten"})"},
     {":3: relu: unknown input 'sten'; did you mean 'stem'? known: input, stem"}},
    {{R"({"op": "relu"})", R"({"op": "relu", "input": "relu1"})"},
     {":3: relu: unknown input 'relu1'; known: input; only layers with a \"name\", in this list or "
      "those around it, can be inputs"}},
    {{R"({"op": "relu", "input": "a"})", R"({"op": "relu", "name": "a"})"},
     {":2: relu: input 'a' is defined later: a layer can only read layers before it"}},
    {{R"({"op": "relu", "name": "a", "input": "a"})"}, {":2: relu 'a': input 'a' is defined later"}},
    {{R"({"op": "relu", "input": 1})"}, {":2: relu: input must be a text"}},
    {{R"({"op": "add", "inputs": "input"})"}, {":2: add: inputs must be a list of names"}},
    {{R"({"op": "add", "inputs": [1]})"}, {":2: add: inputs must be a list of names"}},
    {{R"({"op": "relu", "inputs": []})"}, {":2: relu: inputs must be a list of names"}},
    {{R"({"op": "relu", "input": "input", "inputs": ["input"]})"}, {"has both input and inputs"}},
    {{R"({"op": "add"})"}, {":2: layer add1: takes 2 inputs, not 1"}},
    {{R"({"op": "conv2d", "channels": 2, "name": "c"})",
      R"({"op": "add", "name": "sum", "inputs": ["c", "input"]})"},
     {"net.json:3: layer sum: cannot add 2x28x28 and 1x28x28"}},
    {{R"({"name": "g", "repeat": 2, "layers": [{"op": "max_pool2d", "name": "m", "kernel": 20}]})"},
     {"net.json:2: layer g.1.m: a window of 20 does not fit into 1 pixel"}},
    {{R"({"op": "adaptive_avg_pool2d", "size": 4096})", R"({"op": "conv2d", "channels": 1000})"},
     {":3: layer conv1: its output of 1000x4096x4096 is too large"}},
    {{R"({"op": "conv2d", "channels": 2, "name": "c"})", R"({"op": "relu", "input": "input"})"},
     {":2: nothing reads layer 'c'"}},
    {{"3"}, {"net.json:2: a layer must be an object"}},
    {{R"({"layers": []})"}, {"net.json:2: layers must be a list of at least one layer"}},
    {{R"({"repeat": 2})"}, {":2: layer: op is missing"}},
    {{R"({"repeat": 0, "layers": [{"op": "relu"}]})"}, {"repeat must be from 1"}},
    {{R"({"op": "relu", "layers": [{"op": "relu"}]})"}, {":2: relu: unknown option 'op'"}},
    {{R"({"inputs": ["input", "input"], "layers": [{"op": "relu"}]})"}, {"a group of layers has one input"}},
    {{R"({"name": "g", "layers": [{"op": "relu", "name": "a"}]})", R"({"op": "relu", "input": "a"})"},
     {":3: relu: unknown input 'a'"}},
    {{"{\"name\": \"" + std::string(60, 'g') + "\", \"layers\": [\n{\"op\": \"relu\", \"name\": \"" +
      std::string(40, 'r') + "\"}]}"},
     {":3: relu 'rrr", "': its full name, with the names of its groups, is longer than 100 bytes: ggg",
      "rrr..."}},
    {{R"({"repeat": 4000, "layers": [{"repeat": 4000, "layers": [{"op": "relu"}]}]})"},
     {":2: relu: more than 4096 layers"}}};
INSTANTIATE_TEST_SUITE_P(JsonNetwork, Mistakes, ::testing::ValuesIn(mistakes));

TEST(JsonNetwork, WholeFilesThatAreRefused) {
  const auto refuse = [](const std::string& text, const std::string& message) {
    expect_error(Category::usage, {message}, [&] { parse(text); });
  };
  refuse("{\"layers\":\n\n[{\"op\": relu}]}", "net.json:3: not valid JSON: unexpected 'r'");
  refuse("{\"layers\": [\n{\"op\": \"linear\", \"features\": \"classes\"}]\n",
         "net.json:3: not valid JSON: the text ends too early");
  refuse("[]", "net.json:1: must be an object {\"layers\": [...]}");
  refuse("[[{\"op\": \"flatten\"}, {\"op\": \"linear\", \"features\": \"classes\"}]]",
         "net.json:1: must be an object {\"layers\": [...]}");
  refuse("\n3", "net.json:2: must be an object");
  refuse("{}", "net.json:1: must be an object");
  refuse("{\n\"layer\": []}", "net.json:2: unknown key 'layer'; did you mean 'layers'? known: layers");
  refuse("{\"layers\": [],\n\"classes\": 10}", "net.json:2: unknown key 'classes'; known: layers");
  refuse("{\"layers\": []}", "net.json:1: layers must be a list of at least one layer");
  refuse("{\"layers\": 3}", "net.json:1: layers must be a list of at least one layer");
  refuse("{\"layers\": [\n{\"op\": \"flatten\"},\n{\"op\": \"linear\", \"features\": 7}]}",
         "net.json:3: the last layer has 7x1x1 values instead of 10 (the number of classes): end with");
  refuse(std::string((1U << 20) + 1, ' '), "net.json: 1048577 bytes are more than the limit");
}

TEST(JsonNetwork, FileThatIsNotThere) {
  expect_error(Category::data, {"/nonexistent/net.json"},
               [] { make_model("/nonexistent/net.json", input, classes); });
}

}  // namespace
}  // namespace lockstep
