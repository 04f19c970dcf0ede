// Bad input gets one clear line, the right exit status on every rank, and no hang.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>

#include "support/run.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

class BadInput : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    good_ = std::make_unique<TemporaryFolder>();
    write_small_fashion_mnist(*good_, 600, 100);
  }
  static void TearDownTestSuite() { good_.reset(); }

  /// Expects a run to fail, alone and on two ranks, with this status and one line that has these words.
  static void expect_failure(Arguments arguments, int status, const Arguments& words) {
    for (const int ranks : {0, 2}) {
      const Outcome outcome = lockstep(ranks, arguments);
      EXPECT_EQ(outcome.status, status) << ranks << " ranks: " << outcome.err;
      EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
      for (const std::string& word : words) {
        EXPECT_NE(outcome.err.find(word), std::string::npos) << "'" << word << "' in: " << outcome.err;
      }
      EXPECT_EQ(outcome.err.find("MPI_ABORT"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.out.find("epoch 1/"), std::string::npos) << outcome.out;
    }
  }
  static void expect_train_failure(Arguments extra, int status, const Arguments& words) {
    Arguments arguments{"train"};
    if (extra[0] != "--epochs") arguments.insert(arguments.end(), {"--epochs", "1"});
    if (extra[0] != "--data-dir") arguments.insert(arguments.end(), {"--data-dir", good_->string()});
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    expect_failure(arguments, status, words);
  }
  /// Expects a run on the good data set to fail after `change` of one file.
  static void expect_data_failure(const std::string& file, const std::function<void(std::string&)>& change,
                                  const Arguments& words) {
    const TemporaryFolder folder;
    std::filesystem::copy(good_->string(), folder.string());
    std::string bytes = contents(folder / file);
    change(bytes);
    std::ofstream(folder / file, std::ios::binary | std::ios::trunc) << bytes;
    Arguments all = words;
    all.push_back(file);
    expect_failure({"train", "--epochs", "1", "--data-dir", folder.string()}, 3, all);
  }

  static std::unique_ptr<TemporaryFolder> good_;
};
std::unique_ptr<TemporaryFolder> BadInput::good_;

TEST_F(BadInput, UnknownNamesSuggestTheNearest) {
  expect_train_failure({"--momentun", "0.9"}, 2, {"momentun", "momentum"});
  expect_train_failure({"--model", "lenett"}, 2, {"lenett", "lenet"});
  expect_train_failure({"--dataset", "fashon-mnist"}, 2, {"fashon-mnist", "fashion-mnist"});
  expect_train_failure({"--optimizer", "sdg"}, 2, {"sdg", "sgd"});
}

/// Ranks do not wait for each other before the World exists: mpirun must give rank 0 time to print its line.
TEST_F(BadInput, UnknownCommandsSuggestTheNearest) {
  for (const int ranks : {0, 2}) {
    const Outcome outcome = lockstep(ranks, {"trian"}, {"OMPI_MCA_odls_base_sigkill_timeout=1"});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    const std::string line = "lockstep: error: unknown command 'trian'; did you mean 'train'?";
    EXPECT_NE(outcome.err.find(line), std::string::npos) << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
  }
}

TEST_F(BadInput, NetworkFilesNameLineAndLayer) {
  const TemporaryFolder folder;
  const std::string file = (folder / "net.json").string();
  std::ofstream(file) << "{\"layers\": [\n{\"op\": \"flatten\"},\n{\"op\": \"linear\", \"feature\": 10}]}\n";
  expect_train_failure({"--model", file}, 2, {"net.json:3: linear: unknown option 'feature'", "'features'"});
  expect_train_failure({"--model", (folder / "none.json").string()}, 3, {"none.json"});
  const Arguments vgg11 = {"model vgg11 takes images of at least 32x32 pixels"};
  expect_train_failure({"--model", "vgg11"}, 2, vgg11);
  expect_failure({"eval", "--data-dir", good_->string(), "--model", "vgg11", "any"}, 2, vgg11);
  expect_failure({"bench", "step", "--data-dir", good_->string(), "--model", "vgg11"}, 2, vgg11);
}

/// The other numbers and sources are those of cli_test, BadValues.
TEST_F(BadInput, ImpossibleNumbersNameTheOption) {
  expect_train_failure({"--batch-size", "12abc"}, 2, {"batch-size", "12abc"});
  expect_train_failure({"--lr", "nan"}, 2, {"lr", "nan"});
}

TEST_F(BadInput, ImpossibleUpdatesNameTheOption) {
  expect_train_failure({"--clip-grad", "-1"}, 2, {"clip-grad", "-1"});
  expect_train_failure({"--model-ema-decay", "1"}, 2, {"model-ema-decay", "below 1"});
  expect_train_failure({"--early-stopping", "soon"}, 2, {"early-stopping", "soon"});
  expect_train_failure({"--freeze", "conv2,cnov1"}, 2, {"cnov1", "did you mean 'conv1'?"});
  expect_train_failure({"--freeze", "*"}, 2, {"every parameter is frozen"});
  expect_train_failure({"--optimizer", "lamb", "--momentum", "0.9"}, 2, {"lamb", "momentum"});
}

TEST_F(BadInput, OptionsWithoutEffectAreRefused) {
  expect_train_failure({"--image-size", "32"}, 2, {"--image-size: has no effect with dataset fashion-mnist"});
  expect_train_failure({"--label-column", "x"}, 2,
                       {"--label-column: has no effect with dataset fashion-mnist"});
  expect_train_failure({"--test-fraction", "0.5"}, 2,
                       {"--test-fraction: has no effect with dataset fashion-mnist"});
  expect_train_failure({"--classes", "7"}, 2, {"--classes: has no effect with dataset fashion-mnist"});
  expect_train_failure({"--crop-pct", "0.5"}, 2, {"--crop-pct: has no effect with dataset fashion-mnist"});
  expect_train_failure({"--scale", "0.5,1"}, 2, {"--scale: has no effect without random-resized-crop"});
  expect_train_failure({"--decay-rate", "0.5"}, 2, {"--decay-rate: has no effect with sched constant"});
}

TEST_F(BadInput, PlacesOfTables) {
  const TemporaryFolder folder;
  const std::string file = (folder / "all.csv").string();
  std::ofstream(file) << "x,label\n1,a\n2,b\n";
  const auto train = [&](const std::string& place, const Arguments& more) {
    Arguments arguments{"train", "--dataset", "csv", "--data-dir", place};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  expect_failure(train(file, {}), 2, {"all.csv is a file: give a test fraction"});
  std::ofstream(folder / "test.csv") << "x,label\n1,a\n";
  expect_failure(train(folder.string(), {"--test-fraction", "0.5"}), 2,
                 {"--test-fraction: has no effect beside", "test.csv"});
  expect_failure(train("/" + std::string(300, 'x'), {"--test-fraction", "0.5"}), 3, {"File name too long"});
}

TEST_F(BadInput, ImagesOfWhichNoneIsReadable) {
  const TemporaryFolder folder;
  for (const char* part : {"train/a", "train/b", "test/a"}) {
    std::filesystem::create_directories(folder / part);
    std::ofstream(folder / part / "1.jpg") << "damaged";
  }
  Arguments stats{"data", "stats", "--dataset", "images", "--data-dir", folder.string()};
  const Outcome outcome = lockstep(0, stats);
  EXPECT_EQ(outcome.status, 3) << outcome.out;
  EXPECT_NE(outcome.err.find("none of the 2 samples can be read"), std::string::npos) << outcome.err;
  stats.emplace_back("--strict");
  EXPECT_NE(lockstep(0, stats).err.find("error: "), std::string::npos);
  EXPECT_EQ(lockstep(0, stats).err.find("warning: "), std::string::npos);
}

TEST_F(BadInput, ImagesThatAreNotDivided) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "all/a");
  std::ofstream(folder / "all/a/1.jpg") << "damaged";
  const std::string place = (folder / "all").string();
  const Arguments undivided = {"all: no folders train and test there: give a test fraction"};
  expect_failure({"train", "--dataset", "images", "--data-dir", place}, 2, undivided);
  expect_failure({"data", "pack", place, (folder / "packed").string()}, 2, undivided);
  expect_failure({"train", "--dataset", "images", "--data-dir", place, "--test-fraction", "0.5"}, 3,
                 {"all: only one class, 'a'"});
}

TEST_F(BadInput, OptionsGivenTwiceAreRefused) {
  expect_train_failure({"--epochs", "1", "--epochs", "2"}, 2, {"epochs"});
}

TEST_F(BadInput, BatchMustDivideAndRanksMustHaveWork) {
  expect_train_failure({"--micro-batches", "7"}, 2, {"256", "7"});
  const Outcome outcome = lockstep(3, {"train", "--data-dir", good_->string(), "--micro-batches", "2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("3 ranks"), std::string::npos) << outcome.err;
}

TEST_F(BadInput, WhatThisBuildCannotDoIsSaid) {
  expect_train_failure({"--device", "cuda"}, 4, {"CUDA"});
  expect_train_failure({"--dtype", "bf16"}, 2, {"bf16"});
  expect_train_failure({"--simd", "avx9"}, 2, {"avx9"});
}

TEST_F(BadInput, MissingDataNamesFileOrPackage) {
  expect_train_failure({"--data-dir", "/nonexistent"}, 3, {"/nonexistent"});
  const TemporaryFolder empty;
  expect_failure({"train", "--data-dir", empty.string()}, 3, {"train-images-idx3-ubyte"});
}

TEST_F(BadInput, DamagedDataNamesFileAndReason) {
  const std::string images = "train-images-idx3-ubyte";
  const std::string labels = "train-labels-idx1-ubyte";
  expect_data_failure(images, [](std::string& bytes) { bytes.resize(bytes.size() - 1); }, {"600x28x28"});
  expect_data_failure(images, [](std::string& bytes) { bytes += 'x'; }, {"600x28x28"});
  expect_data_failure(images, [](std::string& bytes) { bytes[3] = 4; }, {});
  expect_data_failure(images, [](std::string& bytes) { bytes.resize(3); }, {});
  expect_data_failure(images, [](std::string& bytes) { bytes.clear(); }, {});
  expect_data_failure(labels, [](std::string& bytes) { bytes[100] = 77; }, {"77"});
  expect_data_failure(labels,
                      [](std::string& bytes) {
                        bytes.resize(8 + 599);
                        bytes[6] = 2;
                        bytes[7] = static_cast<char>(599 - 512);
                      },
                      {"599", "600"});
}

TEST_F(BadInput, DamagedGzipNamesTheFile) {
  for (const std::string& damage :
       {std::string("truncate -s -100"), std::string("truncate -s 5"),
        std::string("printf '\\377\\377\\377\\377' | dd conv=notrunc bs=1 seek=200 of=")}) {
    const TemporaryFolder folder;
    std::filesystem::copy(good_->string(), folder.string());
    const std::string file = (folder / "t10k-images-idx3-ubyte").string();
    ASSERT_EQ(run({"gzip", file}).status, 0);
    ASSERT_EQ(run({"sh", "-c", damage + (damage.back() == '=' ? "" : " ") + file + ".gz"}).status, 0);
    expect_failure({"train", "--epochs", "1", "--data-dir", folder.string()}, 3,
                   {"t10k-images-idx3-ubyte.gz"});
  }
}

TEST_F(BadInput, RunDirectoryThatCannotBeWritten) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  expect_train_failure({"--run-dir", (folder / "file").string()}, 4, {"file"});
  expect_train_failure({"--run-dir", "/proc/lockstep"}, 4, {"/proc/lockstep"});
}

/// A limit on the size of files stands for a disk that fills up during the run.
TEST_F(BadInput, DiskThatFillsUpDuringTheRun) {
  const auto expect_full = [](const std::string& options, const char* file) {
    const TemporaryFolder folder;
    const std::string command = "trap '' XFSZ; ulimit -f 8; exec '" LOCKSTEP_PROGRAM "' train --data-dir '" +
                                good_->string() + "' --run-dir '" + (folder / "run").string() + "' " +
                                options;
    const Outcome outcome = run({"bash", "-c", command});
    EXPECT_EQ(outcome.status, 4) << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
  };
  expect_full("--batch-size 1", "metrics.jsonl");  // in the first epoch
  expect_full("--epochs 2", "best.safetensors");
}

/// The limit allows for the start of the program, but not for what a run may open later.
TEST_F(BadInput, TooFewOpenFilesAreFoundBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const Outcome outcome = run({"bash", "-c",
                               "ulimit -n 40; exec '" LOCKSTEP_PROGRAM "' train --data-dir '" +
                                   good_->string() + "' --run-dir '" + (folder / "run").string() + "'"});
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("but it may have only 40"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_F(BadInput, SaveModelThatCannotBeWritten) {
  expect_train_failure({"--save-model", "/proc/lockstep/model.safetensors"}, 4, {"model.safetensors"});
}

TEST_F(BadInput, ModelFiles) {
  const TemporaryFolder folder;
  const std::string good = (folder / "good.safetensors").string();
  ASSERT_EQ(
      lockstep(0, {"train", "--data-dir", good_->string(), "--epochs", "0", "--save-model", good}).status, 0);
  const std::string bytes = contents(good);
  const auto expect_bad = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    const auto at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const std::string bad = (folder / "bad.safetensors").string();
    std::ofstream(bad, std::ios::binary | std::ios::trunc) << changed;
    expect_train_failure({"--init-from", bad}, 3, {"bad.safetensors"});
    EXPECT_EQ(lockstep(0, {"eval", "--data-dir", good_->string(), bad}).status, 3);
  };
  expect_bad("[20,1,3,3]", "[20,1,9,1]");
  expect_bad("conv1.bias", "conv9.bias");
  expect_bad("conv1.bias", "conv2.bias");
  expect_bad(bytes.substr(0, 8), std::string(8, '\x7f'));
  expect_bad(bytes.substr(bytes.size() - 4), "");
  expect_train_failure({"--init-from", (folder / "none.safetensors").string()}, 3, {"none.safetensors"});
}

TEST_F(BadInput, LossThatIsNoNumberNamesStepAndLearningRate) {
  Arguments arguments{"train", "--data-dir", good_->string(), "--epochs", "200",
                      "--lr",  "1e30",       "--batch-size",  "64"};
  for (const int ranks : {0, 2}) {
    const Outcome outcome = lockstep(ranks, arguments);
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("step"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("learning rate 1e+30"), std::string::npos) << outcome.err;
  }
}

/// Starts three ranks with the environment `common`; rank 1 also has `environment`.
Outcome run_with_other_rank_1(const std::string& environment, const std::string& data_directory,
                              const Arguments& common = {}) {
  const TemporaryFolder folder;
  const std::string script = (folder / "start").string();
  std::ofstream(script) << "#!/bin/sh\nif [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then export " << environment
                        << "; fi\nexec '" << LOCKSTEP_PROGRAM << "' train --epochs 1 --data-dir '"
                        << data_directory << "'\n";
  chmod(script.c_str(), 0700);
  return run({"timeout", "60", LOCKSTEP_MPIEXEC, "--oversubscribe", "--bind-to", "none", "-np", "3", script},
             common);
}

TEST_F(BadInput, ErrorOnOneRankEndsAllAndNamesIt) {
  const Outcome outcome = run_with_other_rank_1("LOCKSTEP_LR=nan", good_->string());
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep: error: rank 1 on "), std::string::npos) << outcome.err;
}

/// Each value is possible by itself, but ranks must agree on it.
TEST_F(BadInput, RanksThatWereGivenDifferentOptionsAreRefused) {
  for (const char* environment : {"LOCKSTEP_LR=0.05", "LOCKSTEP_SEED=7", "LOCKSTEP_MAX_STEPS=2"}) {
    const Outcome outcome = run_with_other_rank_1(environment, good_->string());
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1 has "), std::string::npos) << outcome.err;
  }
}

TEST_F(BadInput, RanksThatReadDifferentModelFilesAreRefused) {
  const TemporaryFolder folder;
  const auto model = [&](const std::string& seed) {
    const std::string file = (folder / (seed + ".safetensors")).string();
    const Outcome saved = lockstep(
        0, {"train", "--data-dir", good_->string(), "--epochs", "0", "--seed", seed, "--save-model", file});
    EXPECT_EQ(saved.status, 0) << saved.err;
    return file;
  };
  for (const char* transport : {"shared-memory", "messages"}) {
    const Outcome outcome = run_with_other_rank_1(
        "LOCKSTEP_INIT_FROM=" + model("1"), good_->string(),
        {"LOCKSTEP_INIT_FROM=" + model("0"), std::string("LOCKSTEP_TRANSPORT=") + transport});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1 has model file = xxh3:"), std::string::npos) << outcome.err;
  }
}

TEST_F(BadInput, LastUpdateThatSpoilsTheParametersIsAnError) {
  const TemporaryFolder folder;
  const std::string file = (folder / "spoilt.safetensors").string();
  const Outcome outcome = lockstep(
      2, {"train", "--data-dir", good_->string(), "--max-steps", "1", "--lr", "1e30", "--save-model", file});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(BadInput, DataSetWithoutAFolderIsSaidOnce) {
  expect_failure({"train", "--dataset", "mnist"}, 2, {"mnist"});
}

}  // namespace
}  // namespace lockstep::test
