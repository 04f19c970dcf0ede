#include "cli/parse_options.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/commands.h"
#include "cli/options/config_file.h"
#include "cli/other_value.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using test::variable_of;

TEST(TrainOptions, DefaultsAreThoseOfTheStruct) { EXPECT_EQ(parse({}), TrainOptions{}); }

/// Sets each option to a value other than its default, together with the options that it requires.
TEST(TrainOptions, EveryOptionIsReadFromEverySourceAndWrittenBack) {
  const auto all = test::other_values<TrainOptions>();
  EXPECT_EQ(all.size(), train_option_names().size());
  for (const auto& [name, settings] : all) {
    SCOPED_TRACE(name);
    if (!test::is_in_this_build(name)) continue;
    test::Words arguments, environment;
    std::string config;
    test::Settings with_recipe = settings;
    if (name != "recipe") with_recipe.emplace_back("recipe", "none");
    for (const auto& [option, value] : with_recipe) {
      arguments.push_back("--" + option + "=" + value);
      environment.push_back(variable_of(option) + "=" + value);
      config += option + " = " + config_value(value) + "\n";
    }
    const TrainOptions expected = parse(pointers(arguments));
    EXPECT_NE(expected, TrainOptions{});
    EXPECT_EQ(parse({}, pointers(environment)), expected);
    EXPECT_EQ(parse_file(config), expected);
    TrainOptions written = expected;
    written.output.progress = ProgressLine::automatic;
    written.output.run_directory = OutputOptions().run_directory;  // the run directory is for a new run
    written.recipe = TrainOptions().recipe;                        // the recipe's options are written instead
    written.resume.clear();
    written.force = false;
    EXPECT_EQ(parse_file(train_config(expected)), written);
  }
}

TEST(TrainOptions, NamesStandForStatistics) {
  EXPECT_EQ(parse({"--mean", "imagenet"}).training.input.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(parse({"--std", "cifar100"}).training.input.deviation,
            (std::vector<double>{0.2673, 0.2564, 0.2762}));
  EXPECT_EQ(parse({"--mean", "mnist"}).training.input.mean, std::vector<double>{0.1307});
}

TEST(TrainOptions, CommandLineOverEnvironmentOverFile) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("run.cfg", "epochs = 1\nbatch-size = 64 # small\nlr = 0.5\n").string();
  const TrainOptions options =
      parse({"--config", file.c_str(), "--epochs", "3"}, {"LOCKSTEP_EPOCHS=2", "LOCKSTEP_BATCH_SIZE=128"});
  EXPECT_EQ(options.training.epochs, 3);
  EXPECT_EQ(options.training.batch.size, 128);
  EXPECT_EQ(options.training.learning_rate, 0.5);
  EXPECT_EQ(parse({}, {("LOCKSTEP_CONFIG=" + file).c_str()}).training.epochs, 1);
}

TEST(TrainOptions, ConfigOverTheFileOfTheRunThatContinues) {
  const TemporaryFolder folder;
  const std::string of_run =
      folder.write("run/options.cfg", "epochs = 1\nbatch-size = 64\nlr = 0.5\nmomentum = 0.9\n").string();
  const std::string file = folder.write("site.cfg", "epochs = 2\nlr = 0.4\n").string();
  const std::string other = folder.write("other.cfg", "optimizer = adamw\n").string();
  const std::string run = (folder / "run").string();
  const TrainOptions options =
      parse({"--resume", run.c_str(), "--lr", "0.3"}, {("LOCKSTEP_CONFIG=" + file).c_str()});
  EXPECT_EQ(options.training.learning_rate, 0.3);
  EXPECT_EQ(options.training.epochs, 2);
  EXPECT_EQ(options.training.batch.size, 64);
  EXPECT_EQ(options.training.optimizer.momentum, 0.9);
  expect_usage({"--resume", run.c_str(), "--config", other.c_str()},
               {other + ":1: optimizer: leaves " + of_run + ":4: momentum without effect: omit one of them"});
}

TEST(TrainOptions, FlagsFromAllSources) {
  EXPECT_TRUE(parse({"--drop-last"}).training.drop_last);
  EXPECT_TRUE(parse({}, {"LOCKSTEP_DROP_LAST=1"}).training.drop_last);
  EXPECT_FALSE(parse({"--drop-last=false"}, {"LOCKSTEP_DROP_LAST=true"}).training.drop_last);
  expect_usage({"--drop-last=maybe"}, {"--drop-last", "'maybe'"});
  expect_usage({"--drop-last", "false"}, {"unexpected argument 'false'"});
  expect_usage({"--reset-head"}, {"--reset-head: has no effect without --init-from: omit it"});
}

TEST(TrainOptions, BadValuesAreNamedWithOptionAndSource) {
  struct Row {
    std::string option, value, reason;
  };
  for (const auto& [option, value, reason] :
       std::vector<Row>{{"epochs", "99999999999999999999", "out of range"},
                        {"micro-batches", "aut", "not a whole number"},
                        {"lr", "1e999", "out of range"},
                        {"momentum", "1", "below 1"},
                        {"threads", "100000", "out of range"},
                        {"device", "gpu", "auto, cpu, cuda; did you mean cuda?"},
                        {"channels", "2", "is not one of 3, 1"},
                        {"max-time", "5x", "is not a length of time such as 90s"},
                        {"mean", "imagenett", "did you mean 'imagenet'? known: mnist"},
                        {"model", "lenett", "did you mean 'lenet'?"}}) {
    const std::string quoted_value = "'" + value + "'";
    expect_usage({("--" + option).c_str(), value.c_str()}, {"--" + option + ": ", quoted_value, reason});
    const std::string variable = variable_of(option);
    expect_usage({}, {variable + ": ", quoted_value, reason}, {(variable + "=" + value).c_str()});
    const TemporaryFolder folder;
    const std::string file = folder.write("bad.cfg", "# options\n" + option + " = " + value + "\n").string();
    expect_usage({"--config", file.c_str()}, {file + ":2: " + option + ": ", quoted_value, reason});
  }
}

TEST(TrainOptions, UnknownNamesGetTheNearest) {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.cfg", "lr = 0.1\nbatch_sise = 3\n").string();
  const std::string typo = folder.write("typo.cfg", "lr = 0.1\nbatch-sise = 3\n").string();
  expect_usage({"--batch-sise", "3"}, {"'--batch-sise'", "did you mean --batch-size?"});
  expect_usage({"--batch-sise=3"}, {"'--batch-sise'", "did you mean --batch-size?"});
  expect_usage({"-lr", "3"}, {"'-lr'", "did you mean --lr?"});
  expect_usage({"--batch", "3"}, {"unknown option '--batch'"});  // abbreviations are not accepted
  for (const std::string name : {"--rezume-it", "--drop-path"}) {
    expect_exact_error(Category::usage, "unknown option '" + name + "'", [&] { parse({name.c_str(), "3"}); });
  }
  expect_usage({}, {"'LOCKSTEP_BATCH_SIZ'", "did you mean LOCKSTEP_BATCH_SIZE?"}, {"LOCKSTEP_BATCH_SIZ=3"});
  expect_usage({}, {"LOCKSTEP_batch_size"}, {"LOCKSTEP_batch_size=3"});
  // inspect has an option of this name, but an option of train is more likely meant.
  expect_usage({}, {"'LOCKSTEP_MICRO_BATCH'", "did you mean LOCKSTEP_MICRO_BATCHES?"},
               {"LOCKSTEP_MICRO_BATCH=3"});
  expect_usage({"--config", file.c_str()}, {file + ":2", "batch_sise"});
  expect_usage({"--config", typo.c_str()}, {typo + ":2", "did you mean batch-size?"});
}

TEST(TrainOptions, NamesOfOtherProgramsGetOurs) {
  const std::pair<const char*, std::string> names[] = {
      {"--opt", "--optimizer"},       {"--aa", "--randaugment"},
      {"--num-classes", "--classes"}, {"--learning-rate", "--lr"},
      {"-b", "--batch-size"},         {"--initial-checkpoint", "--init-from"},
      {"--workers", "--threads"},     {"--opt-betas", "--beta1"},
      {"--output", "--run-dir"},      {"--amp", "--dtype"},
      {"--cutmix", "--mixup"},        {"--grad-accum-steps", "--micro-batches"},
      {"--reprob", "--cutout"},       {"--val-fraction", "--validation-fraction"},
  };
  for (const auto& [theirs, ours] : names) {
    expect_usage({theirs, "1"}, {std::string("unknown option '") + theirs + "'; did you mean " + ours + "?"});
  }
  const TemporaryFolder folder;
  const std::string file = folder.write("run.cfg", "opt = adamw\n").string();
  expect_usage({"--config", file.c_str()}, {file + ":1", "'opt'; did you mean optimizer?"});
}

TEST(TrainOptions, OtherVariablesAreNotOptions) {
  // Ignored: empty variables, variables of other commands, and variables that Kubernetes sets for a service
  // named lockstep or lockstep-0.
  EXPECT_EQ(parse({}, {"HOME=/", "LOCKSTEP_EPOCHS=", "LOCKSTEP_FORMAT=json", "LOCKSTEP_TOP=2",
                       "LOCKSTEP_SERVICE_HOST=10.0.0.1", "LOCKSTEP_PORT=tcp://10.0.0.1:80",
                       "LOCKSTEP_PORT_80_TCP_PROTO=tcp", "LOCKSTEP_0_SERVICE_PORT_SSH=22"}),
            TrainOptions{});
}

TEST(TrainOptions, MisshapenCommandLines) {
  expect_usage({"--lr"}, {"--lr needs a value"});
  expect_usage({"--lr="}, {"--lr needs a value"});
  expect_usage({"--lr", "--seed", "3"}, {"--lr needs a value"});
  expect_usage({"--lr", "1", "--lr", "2"}, {"--lr is given twice"});
  expect_usage({"--config", ""}, {"--config is empty: give a value, or leave the option out"});
  expect_usage({"--quiet", "--quiet=false"}, {"--quiet is given twice"});
  expect_usage({"stray"}, {"unexpected argument 'stray'"});
  expect_usage({"--data-dir", "a-0.tar", "a-1.tar"},
               {"unexpected argument 'a-1.tar': put quotes around the braces of a range of archives"});
  expect_usage({"--model", "a\nb"}, {"'a?b'"});
  expect_usage({"--config", "/nonexistent/run.cfg"},
               {"--config: /nonexistent/run.cfg: cannot open: No such file"});
  expect_usage({}, {"LOCKSTEP_CONFIG: /nonexistent/run.cfg"}, {"LOCKSTEP_CONFIG=/nonexistent/run.cfg"});
  expect_usage({"--config", "/"}, {"/: cannot read: Is a directory"});
  expect_usage({"--config", "/dev/zero"}, {"longer than 1 MiB"});
}

TEST(TrainOptions, CombinationsOfOptions) {
  expect_usage({"--micro-batches", "7"},
               {"--micro-batches: 7 micro-batches do not divide a batch of 256; 8 do"});
  expect_usage({"--micro-batches", "512"}, {"512 micro-batches do not divide a batch of 256; 256 do"});
  expect_usage({"--model-ema", "--model-ema-decay", "0"},
               {"--model-ema-decay: '0' is out of range: above 0, below 1"});
  expect_usage({"--model-ema-decay", "0.9"},
               {"--model-ema-decay: has no effect without --model-ema: omit it"});
  expect_usage({"--lr-base-scale", "sqrt"}, {"--lr-base-scale: has no effect without --lr-base-batch-size"});
  expect_usage({"--decay-rate", "0.5"}, {"--decay-rate: has no effect with --sched constant: omit it"});
  for (const char* option :
       {"--image-size=32", "--label-column=x", "--test-fraction=0.5", "--classes=7", "--crop-pct=0.5"}) {
    expect_usage({option}, {": has no effect with --dataset fashion-mnist"});
  }
  expect_usage({}, {"LOCKSTEP_MOMENTUM: has no effect with --optimizer adamw"},
               {"LOCKSTEP_MOMENTUM=0.9", "LOCKSTEP_OPTIMIZER=adamw"});
  EXPECT_EQ(parse({"--batch-size", "90", "--micro-batches", "9"}).training.batch.micro_batches, 9);
}

TEST(TrainOptions, RecordHasNoOptionsWithoutEffect) {
  const auto names = [](const TrainOptions& options) {
    std::set<std::string> found;
    const std::string text = train_config(options);
    for (const ConfigEntry& entry : parse_config(text, "options.cfg")) found.insert(entry.name);
    return found;
  };
  TrainOptions options;
  options.training.execution.device = DeviceKind::cpu;
  const std::set<std::string> cpu = names(options);
  for (const std::string& name :
       test::words("image-size channels test-fraction synthetic-shape crop-pct scale "
                   "nesterov beta1 min-lr model-ema-decay cuda-graph")) {
    EXPECT_FALSE(cpu.contains(name)) << name;
  }
  for (const std::string& name : test::words("epochs dataset momentum lr sched simd threads reduce dtype")) {
    EXPECT_TRUE(cpu.contains(name)) << name;
  }
  options.data.name = "images";
  options.training.optimizer.name = "adamw";
  options.training.execution.device = DeviceKind::cuda;
  const std::set<std::string> cuda = names(options);
  for (const char* name : {"image-size", "crop-pct", "beta1", "cuda-graph", "dtype"}) {
    EXPECT_TRUE(cuda.contains(name)) << name;
  }
  for (const char* name : {"simd", "momentum"}) EXPECT_FALSE(cuda.contains(name)) << name;
}

TEST(TrainOptions, HelpNamesEveryOption) {
  TrainOptions options;
  OptionSet set = train_option_set(options);
  for (const std::string& name : train_option_names())
    EXPECT_TRUE(test::holds(set.help(), "--" + name + " ")) << name;
  EXPECT_FALSE(parse(set, {"--model", "-h", "--unknown"}));
}

TEST(TrainOptions, ThePageNamesEveryOption) {
  const std::string page = contents(LOCKSTEP_TEST_DATA "/../docs/options.md");
  for (const std::string& name : train_option_names()) EXPECT_TRUE(test::holds(page, "--" + name)) << name;
}

}  // namespace
}  // namespace lockstep
