// Runs the GPU commands of README, docs and recipes with lockstep-emulated, on several emulated GPUs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "support/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

/// Whether the command computes on GPUs: explicitly, or because it starts one rank per GPU by default.
bool is_for_gpus(const std::string& command) {
  const bool by_default = command.starts_with("launcher/lockstep-run train") && !holds(command, "--device");
  return by_default || holds(command, "--device cuda") || holds(command, "--kernel-times");
}

/// GPU commands in a Markdown file or a recipe, cut at "..." or "#". Slurm commands are returned as
/// lockstep-run commands with the same options.
std::vector<std::string> gpu_commands_of(const std::filesystem::path& file) {
  std::string text = contents(file);
  text = std::regex_replace(text, std::regex(R"(\\\n\s*(# *)?)"), "");  // continued lines
  const std::regex slurm(R"(sbatch [^\n]*?launcher/slurm/train-gpu\.sbatch --)");
  text = std::regex_replace(text, slurm, "launcher/lockstep-run train --");
  std::vector<std::string> commands;
  const std::regex start(R"((launcher/lockstep-run|lockstep|mpirun) [^`\n#|]*)");
  for (auto found = std::sregex_iterator(text.begin(), text.end(), start); found != std::sregex_iterator();
       ++found) {
    std::string command = found->str();
    command = command.substr(0, command.find("..."));
    const auto at = static_cast<std::size_t>(found->position());
    const bool is_command = at == 0 || text[at - 1] == '\n' || text[at - 1] == '`' || text[at - 1] == ' ';
    if (is_command && is_for_gpus(command)) commands.push_back(command);
  }
  return commands;
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE "/" + folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

std::set<std::string> gpu_commands() {
  std::vector<std::filesystem::path> files = {LOCKSTEP_SOURCE "/README.md"};
  for (const char* folder : {"docs", "recipes"})
    std::ranges::copy(files_in(folder), std::back_inserter(files));
  std::set<std::string> commands;
  for (const std::filesystem::path& file : files) {
    for (std::string command : gpu_commands_of(file)) {
      command.erase(command.find_last_not_of(' ') + 1);
      commands.insert(command);
    }
  }
  return commands;
}

/// Small data sets of every kind, and a model file to start from, for recipes.
class RecipeFiles {
 public:
  static constexpr const char* network = LOCKSTEP_SOURCE "/tests/program/networks/residual_dropout.json";

  RecipeFiles() {
    write_small_fashion_mnist(folder_, 256, 16);
    const std::string record = std::string(1, '\1') + std::string(3072, 'x');
    for (const char* file :
         {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
      std::ofstream images(folder_ / (std::string(file) + ".bin"));
      for (int i = 0; i < 32; ++i) images << record;
    }
    for (const auto& [folder, count] : {std::pair<std::string, int>("train/daisy/", 128),
                                        {"train/tulip/", 128},
                                        {"test/daisy/", 4},
                                        {"test/tulip/", 4}}) {
      for (int i = 0; i < count; ++i) {
        folder_.write(folder + std::to_string(i) + ".jpg", jpeg_file(16, 16, static_cast<std::uint32_t>(i)));
      }
    }
    const Outcome saved = lockstep(
        0, words("train --epochs 0 --model {} --dataset synthetic --samples 8 --synthetic-shape 3x12x12 "
                 "--classes 5 --run-dir none --save-model {}",
                 network, model()));
    EXPECT_EQ(saved.status, 0) << saved.err;
  }

  std::string model() const { return (folder_ / "model.safetensors").string(); }
  /// Data for a recipe. It has no test set if the recipe holds one out of the training set (--test-fraction).
  std::string data_for(const std::string& recipe) const {
    const bool one_part = holds(recipe, "--test-fraction");
    if (holds(recipe, "\ndataset = csv\n"))
      return one_part ? LOCKSTEP_SOURCE "/examples/data/iris" : LOCKSTEP_SOURCE "/examples/data/two-moons";
    return one_part ? (folder_ / "train").string() : folder_.string();
  }
  /// Environment for a command with the recipe: the data folder, unless the command must name it, and a small
  /// network in place of a large one.
  std::vector<std::string> environment_of(const std::string& recipe) const {
    std::vector<std::string> environment;
    if (holds(recipe, "\ndataset = fashion-mnist\n") || holds(recipe, "\ndata-dir = ")) {
      environment.push_back("LOCKSTEP_DATA_DIR=" + data_for(recipe));
    }
    if (holds(recipe, "\nmodel = resnet")) environment.push_back(std::string("LOCKSTEP_MODEL=") + network);
    if (holds(recipe, "\ndataset = images\n")) environment.emplace_back("LOCKSTEP_IMAGE_SIZE=12");
    return environment;
  }

 private:
  TemporaryFolder folder_;
};

/// Recipe that the command names, or empty.
std::string recipe_of(const std::string& command) {
  std::smatch found;
  return std::regex_search(command, found, std::regex("--config (recipes/[^ ]*)")) ? found[1] : std::string();
}

/// A machine with GPUs: lockstep-run, with the emulated program beside it.
class GpuCommands : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::filesystem::copy(LOCKSTEP_RUN, folder_.string());
    std::filesystem::create_symlink(LOCKSTEP_EMULATED, folder_ / "lockstep");
  }
  /// Adapts the command to this machine: "-np 8" becomes the number of GPUs, unless ranks share a GPU.
  std::string adapted(std::string command) const {
    const std::string ranks = std::to_string(GetParam());
    if (!holds(command, "--transport")) {
      command = std::regex_replace(command, std::regex("-np [2-9]"), "-np " + ranks);
    }
    if (const std::string recipe = recipe_of(command); !recipe.empty()) {
      const std::string data = recipes_.data_for(contents(LOCKSTEP_SOURCE "/" + recipe));
      command = std::regex_replace(command, std::regex("--config recipes/"),
                                   "--config " LOCKSTEP_SOURCE "/recipes/");
      command = std::regex_replace(command, std::regex("--data-dir [^ ]*"), "--data-dir " + data);
      command = std::regex_replace(command, std::regex("[^ ]*[.]safetensors"), recipes_.model());
    }
    command = std::regex_replace(command, std::regex("resnet18-d2l"),
                                 RecipeFiles::network);  // instead of 11,000,000 parameters
    const std::string folder = folder_.string() + "/";
    command = std::regex_replace(command, std::regex("launcher/lockstep-run"), folder + "lockstep-run");
    command = std::regex_replace(command, std::regex("(^| )lockstep "), "$1" + folder + "lockstep ");
    return std::regex_replace(command, std::regex("mpirun "),
                              std::string(LOCKSTEP_MPIEXEC) + " --oversubscribe --bind-to none ");
  }
  /// Runs a command on few and small samples. `recipe`: its recipe; empty: none.
  Outcome start(const std::string& command, const std::string& recipe) const {
    std::string gpus = "0";
    for (int i = 1; i < GetParam(); ++i) gpus += "," + std::to_string(i);
    Words environment;
    if (!recipe.empty()) environment = recipes_.environment_of(contents(LOCKSTEP_SOURCE "/" + recipe));
    const auto add = [&](const char* option) { environment.emplace_back(option); };
    add("LOCKSTEP_THREADS=1");
    environment.push_back("CUDA_VISIBLE_DEVICES=" + gpus);
    if (recipe.empty()) add("LOCKSTEP_DATASET=synthetic");
    if (recipe.empty() && !holds(command, "allreduce")) {
      add("LOCKSTEP_SYNTHETIC_SHAPE=1x14x14");
      add("LOCKSTEP_SAMPLES=128");
      if (!holds(command, "doctor")) add("LOCKSTEP_BATCH_SIZE=128");
    }
    if (holds(command, " train ")) {
      add("LOCKSTEP_MAX_STEPS=1");
      add("LOCKSTEP_RUN_DIR=none");
    }
    if (holds(command, "bench")) add(holds(command, "bench step") ? "LOCKSTEP_STEPS=1" : "LOCKSTEP_ROUNDS=1");
    return run(words("timeout -k 5 120 " + command), environment);
  }

  const TemporaryFolder folder_;
  const RecipeFiles recipes_;
};

TEST(GpuRecipes, HaveACommandForGpus) {
  for (const std::filesystem::path& file : files_in("recipes")) {
    const std::vector<std::string> commands = gpu_commands_of(file);
    ASSERT_EQ(commands.size(), 1U) << file;
    EXPECT_EQ(recipe_of(commands[0]), "recipes/" + file.filename().string());
    EXPECT_TRUE(commands[0].starts_with("launcher/lockstep-run train ")) << "a rank for each GPU";
  }
}

TEST_P(GpuCommands, Start) {
  int started = 0;
  for (const std::string& written : gpu_commands()) {
    const bool one_rank = written.starts_with("lockstep ") || written.starts_with("mpirun ");
    const bool sharing = holds(written, "--transport");
    if ((one_rank || sharing) && GetParam() != 1) continue;
    if (!LOCKSTEP_OPEN_MPI_4 && holds(written, " : ")) continue;  // the mpirun of 5.0.7 crashes
    const std::string command = adapted(written);
    if (GetParam() > 1 && holds(command, "allreduce")) continue;  // 64 MB per rank; messages.txt tests two
    const std::string recipe = recipe_of(written);
    const Outcome outcome = start(command, recipe);
    EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.err;
    ++started;
    if (!holds(command, " train ") || one_rank || sharing) continue;
    SCOPED_TRACE(command);
    expect_holds(outcome.err, ": " + std::to_string(GetParam()) + " rank");
    // A recipe has its own batch, which 16 GPUs can share.
    expect_holds(outcome.out, recipe.empty() ? ", canonical)\n" : ", 16 micro-batches, canonical)\n");
  }
  EXPECT_GE(started, GetParam() == 1 ? 16 : 10);
}

INSTANTIATE_TEST_SUITE_P(On, GpuCommands, testing::Values(1, 16),
                         [](const auto& instance) { return std::to_string(instance.param) + "Gpus"; });

}  // namespace
}  // namespace lockstep::test
