// --json: every command that accepts it prints one JSON document, with the figures of its text, documented in
// docs/json.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "cli/commands.h"
#include "run/checkpoint/checkpoint_store.h"
#include "run/checkpoint/small_checkpoint.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

using Json = nlohmann::json;

/// A value of the document, and the regular expression whose first group matches it in the text output.
struct Figure {
  std::string path;
  std::string text;
  bool measured = false;  ///< differs between runs: checked to be positive in both outputs
};

struct Case {
  std::string command;  ///< including the action: "bench step"
  Words arguments;
  std::vector<Figure> figures;
  int ranks = 0;  ///< 0: without mpirun
  int status = 0;
  std::string program = LOCKSTEP_PROGRAM;
  Words environment = {};
};

class JsonResults : public testing::Test {
 protected:
  JsonResults() {
    const CheckpointStore store(folder_ / "run/checkpoints", 2);
    for (const std::uint64_t step : {1U, 2U}) store.write(SmallCheckpoint(step).contents(), 0);
    std::filesystem::copy(folder_ / "run", folder_ / "damaged", std::filesystem::copy_options::recursive);
    std::ofstream(folder_ / "damaged/checkpoints/step-00000002/state.json", std::ios::app) << "x";
    lockstep(
        0,
        words("train --dataset synthetic --synthetic-shape 1x28x28 --samples 40 --classes 10 --model mlp:8 "
              "--epochs 3 --device cpu --threads 1 --quiet --run-dir {} --save-model {}",
              path("trained"), path("model")));
    for (const std::string run : {"a", "b"}) {
      folder_.write(
          run + "/metrics.jsonl",
          R"({"event":"step","epoch":1,"step":1,"samples":8,"loss":2.5,"learning_rate":0.1,"seconds":1})"
          "\n");
      folder_.write(run + "/options.cfg", run == "a" ? "lr = 0.1\n" : "lr = 0.2\n");
      folder_.write(run + "/environment.json", R"({"ranks":1})");
    }
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<Case> cases() const {
    const Words data = words("--dataset synthetic --synthetic-shape 1x28x28 --samples 40 --classes 10");
    const auto with_data = [&](const std::string& more) { return data + words(more); };
    const Figure ranks{"/ranks", "ranks (\\d+)"}, processor{"/processor", "processor (.*?)  "};
    const Figure batch{"/batch", "batch (\\d+) = "};
    return {
        {"bench step",
         with_data("--device cpu --steps 2 --batch-size 16 --micro-batches 2"),
         {ranks,
          processor,
          batch,
          {"/threads", "threads (\\d+)"},
          {"/micro_batches", " = (\\d+) micro-batches"},
          {"/step_seconds", "\nstep +([\\d.]+) ", true},
          {"/parts/1/name", "\n.*\n.*\n.*\n(\\w+)"},
          {"/parts/1/share", "\nforward +[\\d.]+ +([\\d.]+) %", true},
          {"/parts/1/limit", "\nforward +[\\d.]+ +[\\d.]+ % +(\\w+) "},
          {"/limits/flop_per_s", "can do (\\d+) GFLOP/s", true},
          {"/first_step_seconds", "first step +(\\d+) ms", true},
          {"/peak_memory_bytes", "memory +(\\d+) MB", true},
          {"/images_per_s", "([\\d.]+) img/s", true}},
         2},
        {.command = "bench step",
         .arguments = with_data("--device cuda --steps 2 --batch-size 16 --cuda-graph off --kernel-times"),
         .figures = {processor,
                     {"/launches", "us ([\\d.]+) launches a step"},
                     {"/kernel_seconds", "sum ([\\d.]+) us", true},
                     {"/kernels/0/seconds", "\n +([\\d.]+) us +[\\d.]+ launches  ", true}},
         .program = LOCKSTEP_EMULATED},
        {"bench ops",
         with_data("--device cpu --rounds 1 --batch-size 16 --micro-batches 2"),
         {processor,
          batch,
          {"/dtype", "  (fp32)  "},
          {"/samples", "micro-batch of (\\d+) samples"},
          {"/operations/0/name", "share\n(\\w+)"},
          {"/operations/0/parameters", "share\n\\w+ .* 20x12x12 +(\\d+) "},
          {"/operations/0/forward/seconds", "share\n\\w+ .* 20x12x12 +\\d+ +([\\d.]+) ", true},
          {"/operations/0/forward/limit", "share\n\\w+ .* 20x12x12 +\\d+ +[\\d.]+ +[\\d.]+ +(\\w+) "},
          {"/limits/flop_per_s", "can do (\\d+) GFLOP/s", true},
          {"/sum_seconds", "of the sum of ([\\d.]+) us", true},
          {"/in_one_go_seconds", "in one go +([\\d.]+) us", true}}},
        {"bench allreduce",
         words("--device cpu --rounds 1"),
         {ranks,
          {"/exchange", "exchange (.*)\n"},
          {"/sums/0/bytes", "\n +(4096) "},
          {"/sums/8/bytes", "\n +(67108864) "},
          {"/sums/0/ring/seconds", "\n +4096 +([\\d.]+) ", true},
          {"/sums/0/canonical/bus_bytes_per_s", "\n +67108864 +(?:[\\d.]+ +){3}([\\d.]+) ", true}},
         2},
        {"bench data",
         with_data("--steps 2 --batch-size 16 --threads 1"),
         {ranks,
          {"/threads", "threads (\\d+)"},
          {"/shape/1", "samples of 1x(\\d+)x"},
          {"/load/images_per_s", "\nload +(\\d+) ", true}}},
        {"doctor",
         with_data("--device cpu --self-test=false --validation-fraction 0.25"),
         {{"/findings/0/value", "lockstep +(.*)\n"},
          {"/findings/1/figures/ranks", "\nranks +(\\d+) on"},
          {"/findings/3/figures/cores_per_rank", "\ncores +(\\d+) for"},
          {"/findings/9/figures/validation_samples", ", (\\d+) validation"}}},
        {.command = "doctor",
         .arguments = with_data("--device cuda"),
         .figures = {{"/findings/0/value", "lockstep +(.*)\n"}},
         .status = 4,
         .environment = {"CUDA_VISIBLE_DEVICES="}},
        {"inspect",
         {"--model", "lenet"},
         {{"/parameters", "operations, (\\d+) parameters"},
          {"/operations", "layers in (\\d+) operations"},
          {"/layers/1/parameters", "20x26x26 +(\\d+) "},
          {"/workspaces/0/samples", "train +recompute +evaluate\n +(\\d+) "}}},
        {"inspect",
         {path("run/checkpoints/step-00000002/model.safetensors")},
         {{"/digest", "digest in the file's order (.*)\n"},
          {"/tensors/0/values", "conv1.weight +F32 +(\\d+) "},
          {"/metadata/model", "\nmodel = (.*)\n"}}},
        {"inspect",
         {path("run")},
         {{"/step", "\nstep (\\d+), "},
          {"/digest", "digest in the file's order (.*)\n"},
          {"/options/lr", "\n  lr = (.*)\n"},
          {"/optimizer/0/name", "optimizer.safetensors\n.*\n(\\S+)"}}},
        {"inspect",
         {path("run"), "--verify"},
         {{"/verified/0/path", "(.*): good"}, {"/verified/0/step", "step (\\d+)"}}},
        {.command = "inspect",
         .arguments = {path("damaged"), "--verify"},
         .figures = {{"/verified/0/problem", "BAD: (.*)\n"}, {"/verified/1/step", "step (\\d+)"}},
         .status = 3},
        {"data show",
         data,
         {{"/parts/0/samples", "train +(\\d+) images"}, {"/parts/0/class_samples/0", "0 (\\d+),"}}},
        {"data show",
         words("--dataset csv --data-dir " LOCKSTEP_SOURCE "/examples/data/two-moons"),
         {{"/columns/1/name", "columns of features:\n.*\n *(y): numbers"}}},
        {"data stats",
         data,
         {{"/parts/1/samples", "test +(\\d+) images"},
          {"/parts/0/statistics/read", "train +(\\d+) read"},
          {"/parts/0/statistics/samples_per_s", "readable, (\\d+) img/s", true}}},
        {"eval",
         with_data("--model mlp:8 --device cpu --threads 1 --calibration --per-class") + Words{path("model")},
         {{"/part", "^(test) loss"},
          {"/samples", "samples (\\d+)"},
          {"/loss", "test loss ([\\d.]+)", true},
          {"/accuracy", "test acc ([\\d.]+)", true},
          {"/macro/f1", "macro F1 ([\\d.]+)", true},
          {"/calibration_error", "calibration error ([\\d.]+)", true},
          {"/classes/3/name", "\n(3) +\\d+ "},
          {"/classes/3/samples", "\n3 +(\\d+) "},
          {"/digest", "digest (.*)\n"}},
         2},
        {.command = "diff",
         .arguments = {path("a"), path("a")},
         .figures = {{"/a/steps", "A: .*steps: (\\d+)"}, {"/common_steps", "in both: steps: (\\d+)"}}},
        {.command = "diff",
         .arguments = {path("a"), path("b")},
         .figures = {{"/options/0/b", "option lr: .* in A, (.*) in B"}}},
    };
  }

  const TemporaryFolder folder_;
};

/// Formats a value as commands print it without --json.
std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? std::to_string(value.get<double>()) : value.dump();
}

void expect_same(const Json& document, const std::string& text, const Figure& figure) {
  SCOPED_TRACE(figure.path);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex(figure.text))) << figure.text << " in: " << text;
  const Json& value = document.at(Json::json_pointer(figure.path));
  if (figure.measured) {
    EXPECT_GT(value.get<double>(), 0.0);
    EXPECT_GT(std::stod(found[1]), 0.0);
  } else if (value.is_number_float()) {
    EXPECT_DOUBLE_EQ(value.get<double>(), std::stod(found[1]));
  } else {
    EXPECT_EQ(text_of(value), found[1].str());
  }
}

/// Adds the names of all members of `value`, except inside `facts`, whose member names are not fixed.
void add_names(const Json& value, std::set<std::string>& names) {
  static const std::set<std::string> facts{"metadata", "progress", "options", "identity", "fingerprint"};
  for (const auto& [name, member] : value.items()) {
    if (value.is_object()) names.insert(name);
    if (!value.is_object() || !member.is_object() || !facts.contains(name)) {
      if (member.is_structured()) add_names(member, names);
    }
  }
}

/// Lines that lockstep itself printed to stderr, without lines from mpirun and libraries.
std::string own_lines(const std::string& err) {
  std::string own;
  for (const std::string& line : lines_of(err)) {
    if (line.starts_with("lockstep")) own += line + "\n";
  }
  return own;
}

TEST_F(JsonResults, AreOneDocumentWithTheFiguresOfTheText) {
  std::set<std::string> names;
  std::set<std::string> tried;
  add_names(Json::parse(contents(path("trained/environment.json"))), names);
  for (const Case& one : cases()) {
    std::string all = one.command;
    for (const std::string& argument : one.arguments) all += " " + argument;
    SCOPED_TRACE(all);
    tried.insert(one.command.substr(0, one.command.find(' ')));
    const Words arguments = words(one.command) + one.arguments;
    const Outcome text = mpirun(one.program, one.ranks, arguments, one.environment);
    EXPECT_EQ(text.status, one.status) << text.err;
    const Outcome json = mpirun(one.program, one.ranks, arguments + Words{"--json"}, one.environment);
    EXPECT_EQ(json.status, one.status) << json.err;
    EXPECT_EQ(own_lines(json.err), own_lines(text.err));
    const Json document = Json::parse(json.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << json.out;
    if (!document.is_object()) continue;
    for (const Figure& figure : one.figures) expect_same(document, text.out, figure);
    add_names(document, names);
  }
  for (const Command& command : commands()) {
    const bool accepted = holds(lockstep(0, words(command.name) + Words{"--help"}).out, "--json");
    EXPECT_EQ(tried.contains(command.name), accepted) << command.name;
  }

  const std::string page = contents(LOCKSTEP_SOURCE "/docs/json.md");
  for (const std::string& name : names)
    EXPECT_TRUE(holds(page, "`" + name + "`")) << name << " is not in docs/json.md";
}

}  // namespace
}  // namespace lockstep::test
