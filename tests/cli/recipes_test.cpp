// Recipes: the files, their precedence below all other options, and the automatic choice for users' own data.
#include "cli/recipes/recipes.h"

#include <gtest/gtest.h>

#include "cli/parse_options.h"
#include "cli/train/run_messages.h"

namespace lockstep {
namespace {

TEST(Recipes, AreTheFilesAndAreReadLikeThem) {
  EXPECT_EQ(recipes().size(), 9U);
  for (const Recipe& recipe : recipes()) {
    SCOPED_TRACE(recipe.name);
    const std::string file = std::string(LOCKSTEP_TEST_DATA "/../recipes/") + recipe.name + ".cfg";
    EXPECT_EQ(recipe.text, contents(file));
    EXPECT_TRUE(recipe.purpose().ends_with('.')) << recipe.purpose();
    EXPECT_LE(recipe.purpose().size(), 80U);
    TrainOptions named = parse({"--recipe", recipe.name});
    EXPECT_EQ(named.recipe, recipe.name);
    named.recipe = TrainOptions().recipe;
    EXPECT_EQ(parse({"--config", file.c_str()}), named);
  }
}

TEST(Recipes, GiveWayToAllOtherSources) {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.cfg", "batch-size = 64\n").string();
  const TrainOptions options =
      parse({"--recipe", "table", "--lr", "0.5", "--config", file.c_str()}, {"LOCKSTEP_EPOCHS=3"});
  EXPECT_EQ(options.training.learning_rate, 0.5);
  EXPECT_EQ(options.training.epochs, 3);
  EXPECT_EQ(options.training.batch.size, 64);
  EXPECT_EQ(options.training.optimizer.name, "adamw");
  EXPECT_EQ(parse({}, {"LOCKSTEP_RECIPE=table"}).training.batch.size, by_data<int>);
}

TEST(Recipes, AreChosenForDataOfOnesOwn) {
  const TemporaryFolder folder;
  const std::string csv = folder.write("run.cfg", "dataset = csv\n").string();
  const auto chosen = [](const std::string& line) { return parse_line(line).recipe; };
  EXPECT_EQ(chosen("--dataset csv"), "table");
  EXPECT_EQ(chosen("--dataset images"), "photos");
  EXPECT_EQ(chosen("--dataset images --recipe auto"), "photos");
  EXPECT_EQ(chosen("--dataset images --init-from a.safetensors"), "finetune");
  EXPECT_EQ(chosen("--dataset csv --init-from a.safetensors"), "table");
  EXPECT_EQ(chosen("--dataset images --recipe table"), "table");
  EXPECT_EQ(chosen("--dataset synthetic"), "auto");
  EXPECT_EQ(chosen("--config " + csv), "auto");
  EXPECT_EQ(chosen("--config " + csv + " --recipe table"), "table");
  TrainOptions plain;
  plain.data.name = "csv";
  plain.recipe = "none";
  EXPECT_EQ(parse_line("--dataset csv --recipe none"), plain);
}

TEST(Recipes, LeaveOutWhatHasNoEffect) {
  const TrainOptions uncropped = parse_line("--dataset images --random-resized-crop=false");
  EXPECT_EQ(uncropped.training.augment.scale, AugmentOptions().scale);
  EXPECT_EQ(uncropped.training.augment.hflip, 0.5);
  const TrainOptions adamw = parse_line("--recipe finetune --init-from a --optimizer adamw");
  EXPECT_EQ(adamw.training.optimizer.momentum, 0.0);
  EXPECT_EQ(parse_line("--recipe photos --dataset cifar10").data.image_size, DatasetOptions().image_size);
}

TEST(Recipes, InTheWayOfAnOptionAreNamed) {
  expect_usage({"--dataset", "csv", "--scale", "0.1,1"},
               {"--scale: has no effect without --random-resized-crop: omit it"});
  expect_usage({"--recipe", "tabel"},
               {"--recipe: 'tabel' is not one of auto, none, ", "did you mean table?"});
}

/// Options of the recipe for tables, with fixed values for the options that are computed from the data.
TrainOptions of_table(const std::string& line) {
  TrainOptions options = parse_line("--dataset csv " + line);
  options.training.batch.size = 32;
  options.training.epochs = 60;
  options.training.schedule.warmup_epochs = 3.0;
  return options;
}

TEST(Recipes, AreRecordedAsPlainOptions) {
  const TrainOptions options = of_table("--lr 0.5");
  TrainOptions written = options;
  written.recipe = TrainOptions().recipe;
  EXPECT_EQ(parse_file(train_config(options)), written);
}

TEST(Recipes, LineHasTheValuesInEffect) {
  EXPECT_EQ(
      recipe_line(of_table("--lr 0.5 --sched constant")),
      "recipe table: model mlp, epochs 60, batch-size 32, optimizer adamw, lr 0.5, weight-decay 0.01, sched "
      "constant, warmup-epochs 3, smoothing 0.1; --recipe none for the plain defaults");
  EXPECT_EQ(recipe_line(parse({})), "");
  EXPECT_EQ(recipe_line(parse_line("--dataset csv --recipe none")), "");
}

TEST(FewSteps, OfABatchThatCouldBeSmaller) {
  TrainOptions options;
  options.training.batch.size = 256;
  EXPECT_EQ(few_steps_warning(options, 300, 2),
            "300 samples in batches of 256 make 2 steps an epoch: --batch-size 32 makes 10 (and changes the "
            "result)");
  EXPECT_EQ(few_steps_warning(options, 5120, 20), "");
  options.training.batch.size = 33;
  EXPECT_EQ(few_steps_warning(options, 48, 2), "") << "a batch of 32 makes 2 steps, too";
  options.training.batch.size = 32;
  EXPECT_EQ(few_steps_warning(options, 300, 10), "");
}

TEST(SlowAverage, OfARunThatIsTooShort) {
  TrainOptions options = parse_line("--model-ema --epochs 30");
  EXPECT_EQ(slow_average_warning(options, 10),
            "--model-ema-decay 0.9998 keeps 94 % of the initial parameters in the average after 300 steps: "
            "0.984 keeps 1 %");
  EXPECT_EQ(slow_average_warning(options, 500), "") << "0.9998^15000 is less than 0.05";
  options.training.max_steps = 1;
  EXPECT_EQ(slow_average_warning(options, 500),
            "--model-ema-decay 0.9998 keeps 100 % of the initial parameters in the average after 1 step: "
            "0.01 keeps 1 %");
  EXPECT_EQ(slow_average_warning(parse_line("--model-ema --epochs 0"), 10), "");
  EXPECT_EQ(slow_average_warning(parse_line("--model-ema --model-ema-decay 0.98 --epochs 30"), 10), "");
  EXPECT_EQ(slow_average_warning(parse_line("--epochs 30"), 10), "");
}

TEST(NoEffect, OfOptionsThatNeedMoreEpochs) {
  struct Row {
    std::string line;
    std::vector<std::string> warnings;
  };
  for (const auto& [line, warnings] : std::vector<Row>{
           {"--sched multistep --decay-milestones 2,4,60 --epochs 4",
            {"--decay-milestones 4,60 has no effect: the run ends after 4 epochs"}},
           {"--sched multistep --decay-milestones 2,3 --epochs 4", {}},
           {"--sched step --epochs 30", {"--decay-epochs 30 has no effect: the run ends after 30 epochs"}},
           {"--sched step --epochs 31", {}},
           {"--early-stopping 3 --epochs 4",
            {"--early-stopping 3 has no effect: the run ends after 4 epochs"}},
           {"--early-stopping 2 --epochs 4", {}},
           {"--early-stopping 1 --epochs 1",
            {"--early-stopping 1 has no effect: the run ends after 1 epoch"}},
           {"--early-stopping 3 --sched step --epochs 0", {}},
           {"--epochs 1", {}}}) {
    EXPECT_EQ(no_effect_warnings(parse_line(line)), warnings) << line;
  }
}

}  // namespace
}  // namespace lockstep
