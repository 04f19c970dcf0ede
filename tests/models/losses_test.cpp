#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "device/cpu/cpu_device.h"
#include "lockstep/models.h"
#include "ops/cpu/cpu_plan.h"
#include "support/host_micro_batch.h"

/// Compares models in evaluation mode with torchvision's: losses for every class on one image and for the
/// first class on another. Uses the formulas of bench/peers/make_logits_reference.py.
namespace lockstep {
namespace {

std::vector<std::uint32_t> hashed(const std::string& name, std::size_t count) {
  std::uint32_t seed = 2166136261U;
  for (const char byte : name) {
    seed = (seed ^ static_cast<unsigned char>(byte)) * 16777619U;
  }
  std::vector<std::uint32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761U + seed;
    h = (h ^ h >> 16) * 0x45D9F3BU;
    h = (h ^ h >> 16) * 0x45D9F3BU;
    numbers[i] = h ^ h >> 16;
  }
  return numbers;
}

/// The script's function offset + factor * u for u in [0, 1), exact in float.
struct Line {
  float offset;
  float factor;
};

Line line_for(const Parameter& parameter) {
  if (parameter.name.ends_with("running_var")) return {0.5F, 1.0F};
  if (parameter.name.ends_with("running_mean")) return {-0.25F, 0.5F};
  if (parameter.shape.size() == 1) {
    return parameter.name.ends_with("weight") ? Line{0.75F, 0.5F} : Line{-0.125F, 0.25F};
  }
  const std::size_t fan_in = parameter.size() / static_cast<std::size_t>(parameter.shape[0]);
  float scale = 1.0F;
  for (std::size_t reach = 6; reach < fan_in; reach *= 4) scale /= 2;
  return {-scale, 2 * scale};
}

void fill(const Parameter& parameter, float* values) {
  const auto [offset, factor] = line_for(parameter);
  const std::vector<std::uint32_t> numbers = hashed(parameter.name, parameter.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    values[i] = offset + factor * (static_cast<float>(numbers[i] >> 12) / 1048576.0F);
  }
}

class Losses : public ::testing::TestWithParam<std::string> {};

TEST_P(Losses, AreThoseOfPyTorch) {
  std::ifstream file(LOCKSTEP_TEST_DATA "/models/losses.json");
  const nlohmann::json stored = nlohmann::json::parse(file).at(GetParam());
  const auto extents = stored.at("shape").get<std::vector<int>>();
  const Shape shape = {extents[0], extents[1], extents[2]};
  const auto expected = stored.at("losses").get<std::vector<std::vector<double>>>();
  const auto network = make_model(GetParam(), shape, 10);
  const ArenaLayout layout = layout_arena(network->parameters());
  const auto device = make_cpu_device({});
  const Buffer arena = device->allocate(layout.elements * sizeof(float));
  auto* parameters = arena.as<float>();
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    fill(network->parameters()[i], parameters + layout.offsets[i]);
  }
  const cpu::CpuPlan plan(build_graph(*network), layout, {.samples = 1, .training = false},
                          cpu::best_level());
  const Buffer workspace = device->allocate(plan.workspace_bytes());

  std::vector<std::uint8_t> pixels;
  for (const std::uint32_t number : hashed("images", expected.size() * shape.size())) {
    pixels.push_back(static_cast<std::uint8_t>(number >> 24));
  }
  for (std::size_t image = 0; image < expected.size(); ++image) {
    const test::HostMicroBatch one(1);
    one.batch.samples[0] = reinterpret_cast<const std::byte*>(pixels.data() + image * shape.size());
    plan.load(one.batch, {.shape = shape}, workspace.data());
    plan.forward(one.batch, plan.all(), parameters, nullptr, workspace.data());
    for (std::size_t label = 0; label < expected[image].size(); ++label) {
      one.batch.labels[0] = static_cast<std::int32_t>(label);
      LeafResult result;
      plan.forward(one.batch, {plan.nodes(), plan.nodes() + 1}, parameters, &result, workspace.data());
      EXPECT_NEAR(result.loss, expected[image][label], 1e-4) << "class " << label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Losses,
                         ::testing::Values("alexnet", "mobilenet-v2", "resnet18", "resnet18-d2l", "resnet50"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace lockstep
