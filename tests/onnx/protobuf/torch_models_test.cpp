// Models that PyTorch's exporters wrote (tests/pypi/make_onnx_models.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

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

/// Samples in a tensor [samples][...] of a model file.
class TensorSamples : public Dataset {
 public:
  TensorSamples(const ModelFile& file, Shape shape, std::int64_t samples)
      : bytes_(std::as_bytes(file.floats(
            "input", std::vector<std::int64_t>{samples, shape.channels, shape.height, shape.width}))),
        shape_(shape),
        samples_(samples) {}
  std::uint64_t size() const override { return static_cast<std::uint64_t>(samples_); }
  Shape shape() const override { return shape_; }
  int classes() const override { return 5; }
  Encoding encoding() const override { return Encoding::floats; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>&) const override {
    const std::size_t size = shape_.size() * sizeof(float);
    return {reinterpret_cast<const std::uint8_t*>(bytes_.data()) + id * size, size};
  }
  int label(std::uint64_t) const override { return 0; }

 private:
  std::span<const std::byte> bytes_;
  Shape shape_;
  std::int64_t samples_;
};

TEST(TorchModels, GiveTheLogitsOfPyTorch) {
  for (const std::string name : {"residual", "own"}) {
    const ModelFile reference = ModelFile::read(models / (name + ".safetensors"));
    const TensorSamples samples(reference, {3, 16, 16}, 2);
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

TEST(TorchModels, OfTorchvisionAreTheBuiltInOnes) {
  const std::map<std::string, std::string> built_in = {
      {"resnet18", "resnet18"}, {"mobilenet_v2", "mobilenet-v2"}, {"vgg11_bn", "vgg11-bn"}};
  for (const auto& [name, model] : built_in) {
    const auto expected = make_model(model, {3, 224, 224}, 10);
    for (const Exporter& exporter : exporters) {
      SCOPED_TRACE(name + " " + exporter.name);
      const auto file = models / (name + "." + exporter.name + ".graph.onnx");
      const OnnxImport imported = import_onnx(file, {.weights = false});
      EXPECT_EQ(described(*imported.network), described(*expected, exporter.keeps_batch_norm));
      EXPECT_EQ(has_dropout(*imported.network), exporter.keeps_dropout && has_dropout(*expected));
      if (!exporter.keeps_batch_norm) continue;
      EXPECT_EQ(parameter_names(*imported.network), parameter_names(*expected));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
