// Writes exported networks with their logits, for check_onnx_export.py. Usage: write_onnx_models FOLDER
// [large]
//
// NAME.safetensors has "pixels" (0 to 255) and "input" [samples][channel][row][column], and "logits". The
// models are NAME.onnx and, with batch norm folded, softmax and preprocessing, NAME.raw.onnx. There is one
// network for each row of the table of operations, and one for each model.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "graph/operations.h"
#include "lockstep/models.h"
#include "onnx/export.h"
#include "onnx/logits.h"
#include "onnx/random_model.h"
#include "ops/op_case.h"

namespace lockstep::test {
namespace {

constexpr std::uint64_t samples = 5;
constexpr std::size_t large_parameters = 30'000'000;

/// Data set of noise images.
class Noise : public Dataset {
 public:
  Noise(Shape shape, int classes) : shape_(shape), classes_(classes) {
    for (std::size_t i = 0; i < samples * shape.size(); ++i) {
      pixels_.push_back(static_cast<std::uint8_t>(256.0F * random_number(1000, i)));
    }
  }
  std::uint64_t size() const override { return samples; }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>&) const override {
    return std::span(pixels_).subspan(id * shape_.size(), shape_.size());
  }
  int label(std::uint64_t) const override { return 0; }
  const std::vector<std::uint8_t>& pixels() const { return pixels_; }

 private:
  Shape shape_;
  int classes_;
  std::vector<std::uint8_t> pixels_;
};

/// Writes the files of a network whose inputs lie approximately between -range and range.
void write_models(const std::filesystem::path& folder, const std::string& name, const Network& network,
                  double range) {
  const Shape shape = network.input_shape();
  const Noise images(shape, network.classes());
  const ModelFile weights = random_model(network);
  // Different channels have different means and deviations.
  InputOptions input;
  for (int c = 0; c < shape.channels; ++c) {
    input.mean.push_back(0.5 + 0.01 * (c % 3));
    input.deviation.push_back(0.5 / range * (1.0 + 0.1 * (c % 4)));
  }
  std::vector<float> pixels, inputs;
  for (std::size_t i = 0; i < images.pixels().size(); ++i) {
    const std::size_t c = i / (shape.size() / static_cast<std::size_t>(shape.channels)) %
                          static_cast<std::size_t>(shape.channels);
    pixels.push_back(images.pixels()[i]);
    inputs.push_back((pixels.back() / 255.0F - static_cast<float>(input.mean[c])) /
                     static_cast<float>(input.deviation[c]));
  }
  const std::vector<float> logits = logits_of(network, weights, images, input);
  const std::vector<std::int64_t> extents{samples, shape.channels, shape.height, shape.width};
  write_model_file(
      folder / (name + ".safetensors"),
      std::vector<NamedTensor>{{"pixels", extents, std::span<const float>(pixels)},
                               {"input", extents, std::span<const float>(inputs)},
                               {"logits", {samples, network.classes()}, std::span<const float>(logits)}},
      {});
  export_onnx(folder / (name + ".onnx"), network, weights, {});
  export_onnx(folder / (name + ".raw.onnx"), network, weights,
              {.fold_batch_norm = true,
               .softmax = true,
               .preprocessing = OnnxPreprocessing{.mean = input.mean, .deviation = input.deviation},
               .metadata = {{"classes", "[\"cat\"]"}}});
}

void write_case(const std::filesystem::path& folder, const OpCase& op_case) {
  Network network(op_case.inputs[0]);
  const Value x = add_to(network, op_case);
  network.output(x.shape() == Shape{x.shape().channels, 1, 1} ? x : flatten(x));
  write_models(folder, "case-" + op_case.name, network, op_case.range);
}

std::size_t count_parameters(const Network& network) {
  std::size_t values = 0;
  for (const Parameter& parameter : network.parameters()) values += parameter.size();
  return values;
}

void write_all(const std::filesystem::path& folder, bool large) {
  for (const std::string& model : model_names()) {
    const auto network = make_model(model, model == "alexnet" ? Shape{3, 63, 70} : Shape{3, 40, 36}, 10);
    if (large == (count_parameters(*network) > large_parameters)) write_models(folder, model, *network, 2.0);
  }
  if (large) return;
  for (const OpCase& op_case : op_cases()) write_case(folder, op_case);
  write_models(folder, "table", *make_model("mlp:16", {7, 1, 1}, 3), 2.0);
  const std::filesystem::path networks = LOCKSTEP_TEST_DATA "/golden/networks";
  for (const char* const name : {"group_norm", "operations"}) {
    write_models(folder, name, *make_model((networks / name).string() + ".json", {3, 33, 30}, 5), 2.0);
  }
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    lockstep::test::write_all(argv[1], argc > 2);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
