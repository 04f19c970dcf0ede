// Shows, from the description of an H200 and without a GPU, that cuDNN has a precompiled sm_90 engine for
// every convolution and linear layer of every model, forward and backward, in every data type.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "lockstep/error.h"
#include "lockstep/models.h"
#include "ops/cuda/dnn/cudnn.h"
#include "ops/cuda/dnn/flattening.h"
#include "ops/cuda/dnn/native/cudnn_graph.h"
#include "ops/cuda/dnn/native/cudnn_target.h"
#include "ops/cuda/dnn/problems.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep::cuda {
namespace {

using enum ConvDirection;

const std::filesystem::path h200 = std::filesystem::path(LOCKSTEP_TEST_DATA) / "ops/h200-deviceprop.json";

struct Training {
  const char* model;
  Shape input;
  int classes;
  int samples = 128;
};
constexpr Training trainings[] = {
    {"lenet", {1, 28, 28}, 10},        {"lenet", {1, 28, 28}, 10, 96},  // last batch of an epoch
    {"mlp", {1, 28, 28}, 10},          {"resnet18-d2l", {1, 28, 28}, 10},
    {"resnet20", {3, 32, 32}, 10},     {"alexnet", {3, 224, 224}, 1000},
    {"vgg11", {3, 224, 224}, 1000},    {"vgg16", {3, 224, 224}, 1000},
    {"vgg11-bn", {3, 224, 224}, 1000}, {"vgg16-bn", {3, 224, 224}, 1000},
    {"resnet18", {3, 224, 224}, 1000}, {"resnet34", {3, 224, 224}, 1000},
    {"resnet50", {3, 224, 224}, 1000}, {"mobilenet-v2", {3, 224, 224}, 1000},
};

std::vector<ConvTask> operations_of(const Training& training, Type type) {
  const auto network = make_model(training.model, training.input, training.classes);
  const Graph graph = without_flattening(build_graph(*network), type);
  std::vector<ConvTask> operations;
  for (const GraphNode& node : graph.nodes) {
    if (std::holds_alternative<Conv2d>(node.operation) || std::holds_alternative<Linear>(node.operation)) {
      const int input = node.inputs[0];
      const Shape shape = graph.nodes[static_cast<std::size_t>(input)].shape;
      const ConvProblem problem = conv_problem(node, shape, training.samples, type);
      const bool bias = node.parameters.size() == 2;
      operations.push_back({problem, forward, bias, node.epilogue.relu});
      operations.push_back({problem, backward_weights});
      if (input != 0) operations.push_back({problem, backward_data});  // images need no gradient
    }
  }
  return operations;
}

/// Reason why the chosen engine is probably slow, or empty.
std::string_view reason_against(const ConvTask& operation, const DnnOperation& plan) {
  const std::string& engine = plan.description;
  return reason_to_avoid(operation.problem, engine.substr(0, engine.find(',')), plan.workspace_bytes);
}

/// Plans each operation once, prints its engine, workspace and notes, and fails if a probably slow engine is
/// chosen although there is another one.
class Planner {
 public:
  /// Returns whether the operation can be planned.
  bool plan(const ConvTask& operation) {
    const auto known = built_.find(describe(operation));
    if (known != built_.end()) return known->second;
    return built_[describe(operation)] = make(operation);
  }
  const std::vector<std::string>& gaps() const { return gaps_; }

 private:
  bool make(const ConvTask& operation) {
    try {
      const DnnOperation plan = dnn_->plan(operation);
      judge(operation, plan);
      EXPECT_LE(plan.workspace_bytes, cudnn_workspace_limit) << describe(operation);
      EXPECT_FALSE(plan.description.empty()) << describe(operation);
      return true;
    } catch (const Error& error) {
      gaps_.push_back(describe(operation) + ": " + error.what());
      return false;
    }
  }

  void judge(const ConvTask& operation, const DnnOperation& plan) {
    const std::string_view reason = reason_against(operation, plan);
    fmt::print("  {}: {}, {} KB{}{}{}\n", describe(operation), plan.description, plan.workspace_bytes >> 10,
               plan.notes.empty() ? "" : ", ", plan.notes,
               reason.empty() ? "" : fmt::format(" (no other: {})", reason));
    if (reason.empty()) return;
    const auto graph = conv_graph(target_, operation);
    for (std::size_t i = 0; i < graph->engines().size(); ++i) {
      const std::string& other = graph->engines()[i].name;
      if (!graph->build(i)) continue;
      EXPECT_NE(reason_to_avoid(operation.problem, other, graph->workspace_bytes(i)), "")
          << describe(operation) << ": " << plan.description << ", " << reason << "; but there is " << other;
    }
  }

  CudnnTarget target_{h200};
  std::unique_ptr<Dnn> dnn_ = make_cudnn({.device_properties = h200});
  std::map<std::string, bool> built_;
  std::vector<std::string> gaps_;
};

void print_row(Planner& planner, const Training& training, Type type) {
  int built = 0;
  std::set<std::string> distinct;
  const auto operations = operations_of(training, type);
  for (const ConvTask& operation : operations) {
    distinct.insert(describe(operation));
    if (planner.plan(operation)) ++built;
  }
  fmt::print("{:14} {:7} {:5} {:11} {:9} {:6}\n", training.model, training.samples, name_of(type),
             operations.size(), distinct.size(), built);
}

TEST(CudaPlans, EveryOperationOfEveryModelHasOne) {
  Planner planner;
  fmt::print("{:14} {:7} {:5} {:>11} {:>9} {:>6}\n", "model", "samples", "type", "operations", "distinct",
             "built");
  for (const Training& training : trainings) {
    for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) print_row(planner, training, type);
  }
  for (const std::string& gap : planner.gaps()) ADD_FAILURE() << "gap: " << gap;
}

TEST(CudaPlans, AreForAllModelsThatThereAre) {
  std::set<std::string> planned;
  for (const Training& training : trainings) planned.insert(training.model);
  for (const std::string& name : model_names()) EXPECT_TRUE(planned.contains(name)) << name;
}

const ConvProblem small{.samples = 16,
                        .in_channels = 64,
                        .in_height = 9,
                        .in_width = 9,
                        .out_channels = 32,
                        .out_height = 7,
                        .out_width = 7,
                        .kernel = 3,
                        .type = Type::bf16};

class PlanCache : public testing::Test {
 protected:
  std::string engine() const {
    return make_cudnn({.plan_cache = path, .device_properties = h200})
        ->plan({small, backward_weights})
        .description;
  }
  nlohmann::json document() const { return nlohmann::json::parse(std::ifstream(path)); }
  /// Replaces the engine in the cache, which has one problem for one GPU.
  void store(const char* engine) const {
    nlohmann::json changed = document();
    changed["engines"].front().front()["engine"] = engine;
    std::ofstream(path) << changed;
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "plans.json";
};

TEST_F(PlanCache, KeepsTheEngineByProblemAndGpuAndDecidesWhichIsUsed) {
  const std::string chosen = engine();
  const nlohmann::json stored = document();
  EXPECT_EQ(stored["engines"].front().front()["engine"], chosen);
  EXPECT_TRUE(stored["engines"].items().begin().key().starts_with("NVIDIA H200, cuDNN 9.")) << stored;
  EXPECT_EQ(engine(), chosen);
  EXPECT_NE(chosen, "eng0");  // eng0 supports all problems, but is never cuDNN's first choice
  store("eng0");
  EXPECT_EQ(engine(), "eng0");
  store("eng12345");
  expect_error(Category::data, {"eng12345", path.string()}, [&] { engine(); });
}

TEST_F(PlanCache, OfTheRankThatWritesCountsOnHostsThatDoNotSeeIt) {
  engine();
  store("eng0");
  const auto writer = make_cudnn({.plan_cache = path, .device_properties = h200});
  writer->plan({small, backward_weights});
  const auto reader = make_cudnn(
      {.plan_cache = folder.path() / "absent.json", .write_plan_cache = false, .device_properties = h200});
  reader->use_engines(writer->engines());
  EXPECT_EQ(reader->plan({small, backward_weights}).description, "eng0");
}

TEST_F(PlanCache, OfAnotherRankIsNotWritten) {
  make_cudnn({.plan_cache = path, .write_plan_cache = false, .device_properties = h200})
      ->plan({small, backward_weights});
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// cuDNN ranks tensor core engines first; fp32 must not use them.
TEST(CudaPlans, OfFp32AreNotThoseOfTf32) {
  const auto dnn = make_cudnn({.device_properties = h200});
  ConvProblem fp32 = small;
  ConvProblem tf32 = small;
  fp32.type = Type::fp32;
  tf32.type = Type::tf32;
  for (const ConvDirection direction : {forward, backward_data, backward_weights}) {
    const bool bias_and_relu = direction == forward;
    EXPECT_NE(dnn->plan({fp32, direction, bias_and_relu, bias_and_relu}).description,
              dnn->plan({tf32, direction, bias_and_relu, bias_and_relu}).description);
  }
}

TEST(CudaPlans, OfACroppedInputClearTheGradientOfWhatIsNotRead) {
  const auto dnn = make_cudnn({.device_properties = h200});
  EXPECT_EQ(dnn->plan({small, backward_data}).description.find("cleared"), std::string::npos);
  ConvProblem cropped = small;
  cropped.out_height = 6;
  EXPECT_NE(dnn->plan({cropped, backward_data}).description.find("cleared"), std::string::npos);
  EXPECT_NO_THROW(dnn->plan({cropped, forward, true, true}));
  EXPECT_NO_THROW(dnn->plan({cropped, backward_weights}));
}

TEST(CudaPlans, OfAGpuThatIsNotHereCannotRun) {
  const auto plan = make_cudnn({.device_properties = h200})->plan({small, forward});
  EXPECT_THROW(plan.run(nullptr, {}, nullptr), Error);
}

TEST(CudaPlans, NameTheDescriptionThatIsDamaged) {
  const TemporaryFolder folder;
  for (const char* text : {"", "{", R"({"deviceName": 3})", R"({"deviceName": "NVIDIA H200"})"}) {
    const auto file = folder.write("gpu.json", text);
    expect_error(Category::data, {file.string()}, [&] { make_cudnn({.device_properties = file}); });
  }
}

/// Run as a separate CTest test, with a file that is not a library in place of libcudnn.
TEST(WithoutCudnn, DISABLED_SaysWhatIsMissing) {
  expect_error(Category::resource, {"libcudnn.so.9"}, [] { make_cudnn({.device_properties = h200}); });
}

}  // namespace
}  // namespace lockstep::cuda
