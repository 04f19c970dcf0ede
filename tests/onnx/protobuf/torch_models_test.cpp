// Models that PyTorch's exporters wrote (tests/pypi/make_onnx_models.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "lockstep/models.h"
#include "onnx/described.h"
#include "onnx/import.h"
#include "onnx/logits.h"
#include "onnx/random_model.h"

namespace lockstep::test {
namespace {

const std::filesystem::path models = LOCKSTEP_TEST_DATA "/onnx/models";

/// Ways to export a network.
struct Exporter {
  std::string name;
  bool keeps_batch_norm;
  bool keeps_dropout;
};
const Exporter exporters[] = {{"dynamo", false, false},
                              {"dynamo-train", true, true},
                              {"script", false, false},
                              {"script-eval", true, false},
                              {"script-train", true, true}};

/// The two samples in the tensor "input" of `file`, which must outlive them.
Synthetic samples_of(const ModelFile& file) {
  const auto input = std::as_bytes(file.floats("input", std::vector<std::int64_t>{2, 3, 16, 16}));
  Synthetic samples(2, {3, 16, 16}, 5);
  samples.kind = Encoding::floats;
  samples.change = [input](std::uint64_t id, std::vector<std::uint8_t>& bytes) {
    const auto sample = input.subspan(id * input.size() / 2, input.size() / 2);
    bytes.resize(sample.size());
    std::memcpy(bytes.data(), sample.data(), sample.size());
  };
  return samples;
}

TEST(TorchModels, GiveTheLogitsOfPyTorch) {
  for (const std::string name : {"residual", "own"}) {
    const ModelFile reference = ModelFile::read(models / (name + ".safetensors"));
    const Synthetic samples = samples_of(reference);
    for (const Exporter& exporter : exporters) {
      SCOPED_TRACE(name + " " + exporter.name);
      const auto expected = reference.floats(exporter.name, std::vector<std::int64_t>{2, 5});
      const OnnxImport imported = import_onnx(models / (name + "." + exporter.name + ".onnx"), {});
      const ModelFile weights =
          model_of(*imported.network, [&](const auto&, std::size_t i) { return imported.weights[i]; });
      const std::vector<float> logits = logits_of(*imported.network, weights, samples);
      ASSERT_EQ(logits.size(), expected.size());
      for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-5);
    }
  }
}

std::vector<std::string> parameter_names(const Network& network) {
  std::vector<std::string> names;
  for (const Parameter& parameter : network.parameters()) names.push_back(parameter.name);
  return names;
}
bool has_dropout(const Network& network) {
  return std::ranges::any_of(network.layers(), [](const Network::Layer& layer) {
    return std::holds_alternative<Dropout>(layer.operation);
  });
}

TEST(TorchModels, KeepOrderAndNamesOfTheirLayers) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"residual",
       {"conv1", "bn1", "layer1.conv1", "layer1.bn1", "layer1.conv2", "layer1.bn2", "layer2.conv1",
        "layer2.bn1", "layer2.conv2", "layer2.bn2", "layer2.downsample.0", "layer2.downsample.1", "fc"}},
      {"own", {"stem", "norm", "depthwise", "pointwise", "branch.0", "hidden", "head"}}};
  for (const auto& [name, expected] : cases) {
    for (const Exporter& exporter : exporters) {
      if (!exporter.keeps_batch_norm) continue;
      SCOPED_TRACE(name + " " + exporter.name);
      const OnnxImport imported =
          import_onnx(models / (name + "." + exporter.name + ".onnx"), {.weights = false});
      std::vector<std::string> layers;  // layers with parameters
      for (const std::string& parameter : parameter_names(*imported.network)) {
        const std::string layer = parameter.substr(0, parameter.rfind('.'));
        if (layers.empty() || layers.back() != layer) layers.push_back(layer);
      }
      EXPECT_EQ(layers, expected);
    }
  }
}

TEST(TorchModels, OfTorchvisionAreTheBuiltInOnes) {
  const auto expected = make_model("vgg11-bn", {3, 224, 224}, 10);
  for (const Exporter& exporter : exporters) {
    SCOPED_TRACE(exporter.name);
    const auto file = models / ("vgg11_bn." + exporter.name + ".graph.onnx");
    const OnnxImport imported = import_onnx(file, {.weights = false});
    EXPECT_EQ(described(*imported.network), described(*expected, exporter.keeps_batch_norm));
    EXPECT_EQ(has_dropout(*imported.network), exporter.keeps_dropout);
    if (!exporter.keeps_batch_norm) continue;
    EXPECT_EQ(parameter_names(*imported.network), parameter_names(*expected));
  }
}

}  // namespace
}  // namespace lockstep::test
