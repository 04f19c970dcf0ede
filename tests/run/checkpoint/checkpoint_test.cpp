#include "run/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/files/folder.h"
#include "run/checkpoint/checkpoint_store.h"
#include "run/checkpoint/manifest.h"
#include "run/checkpoint/small_checkpoint.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;

const std::vector<std::string> file_names = {"MANIFEST", "model.safetensors", "optimizer.safetensors",
                                             "state.json"};

/// A run's folder with good checkpoints of steps 1 and 2.
class TwoCheckpoints : public testing::Test {
 protected:
  TwoCheckpoints() {
    const CheckpointStore store(folder_.path(), 2);
    for (const std::uint64_t step : {1, 2}) EXPECT_EQ(store.write(SmallCheckpoint(step).contents(), 0), "");
  }

  /// Expects that the checkpoint of step 2 is refused, for a reason that contains `parts`, and that the
  /// checkpoint of step 1 is used instead.
  void expect_older(const std::vector<std::string>& parts) const {
    std::vector<std::string> reasons;
    const auto found =
        newest_good_checkpoint(folder_.path(), [&](const Path& checkpoint, const std::string& reason) {
          EXPECT_EQ(checkpoint, newest_);
          reasons.push_back(reason);
        });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->state.step, 1U);
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_TRUE(reasons.front().starts_with(newest_.string())) << reasons.front();
    EXPECT_EQ(reasons.front().find('\n'), std::string::npos);
    for (const std::string& part : parts) test::expect_holds(reasons.front(), part);
  }

  void expect_newest() const {
    const auto found = newest_good_checkpoint(
        folder_.path(), [](const Path&, const std::string& reason) { ADD_FAILURE() << reason; });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->state.step, 2U);
  }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(newest_ / name, std::ios::binary) << bytes;
  }

  const TemporaryFolder folder_;
  const Path newest_ = folder_ / "step-00000002";
};

void expect_tensors(const ModelFile& file, const std::vector<NamedTensor>& tensors) {
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file.tensors()[i].name, tensors[i].name);
    EXPECT_EQ(file.tensors()[i].shape, tensors[i].shape);
    EXPECT_TRUE(std::ranges::equal(file.bytes(file.tensors()[i]), tensors[i].bytes()));
  }
}

TEST_F(TwoCheckpoints, RoundTrip) {
  const SmallCheckpoint written(2);
  const Checkpoint read = read_checkpoint(newest_);
  EXPECT_EQ(read.folder, newest_);
  EXPECT_EQ(read.state, written.contents().state);
  EXPECT_EQ(read.model.metadata(), written.contents().metadata);
  expect_tensors(read.model, written.contents().model);
  expect_tensors(read.optimizer, written.contents().optimizer);
  std::vector<NamedTensor> results = written.contents().model;
  results[0].values = written.contents().optimizer[1].values;  // the average
  expect_tensors(results_of(read), results);
  EXPECT_EQ(list_folder(newest_), file_names);
  EXPECT_TRUE(is_checkpoint(newest_));
  expect_newest();
}

TEST_F(TwoCheckpoints, EveryTruncationOfEveryFileIsFound) {
  for (const std::string& name : file_names) {
    const std::string bytes = contents(newest_ / name);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      write(name, bytes.substr(0, length));
      expect_older({name});
    }
    write(name, bytes + '\0');
    expect_older({name});
    write(name, bytes);
    expect_newest();
  }
}

/// Flips 3,000 bits (or the number in TEST_BIT_FLIPS), each in an otherwise whole checkpoint.
TEST_F(TwoCheckpoints, EveryFlippedBitIsFound) {
  const char* wanted = std::getenv("TEST_BIT_FLIPS");
  const int flips = wanted != nullptr ? std::atoi(wanted) : 3000;
  std::mt19937 random(14);
  for (int i = 0; i < flips && !HasFailure(); ++i) {
    const std::string& name = file_names[random() % file_names.size()];
    const Path path = newest_ / name;
    const auto byte = static_cast<std::streamoff>(random() % std::filesystem::file_size(path));
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const int before = file.seekg(byte).get();
    const auto put = [&](int value) { file.seekp(byte).put(static_cast<char>(value)).flush(); };
    put(before ^ (1 << (random() % 8)));
    expect_older({name});
    put(before);
  }
  expect_newest();
}

TEST_F(TwoCheckpoints, ReasonsSayWhatIsWrong) {
  const std::string model = contents(newest_ / "model.safetensors");
  write("model.safetensors", model.substr(1));
  expect_older({fmt::format("is damaged: has {} bytes, MANIFEST says {}", model.size() - 1, model.size())});
  write("model.safetensors", std::string(model.size(), ' '));
  expect_older({"model.safetensors: is damaged: its hash is xxh3:", ", MANIFEST says xxh3:"});
  std::filesystem::remove(newest_ / "model.safetensors");
  expect_older({"model.safetensors: cannot open: No such file or directory"});
  write("MANIFEST", manifest_text({}));
  expect_older({"state.json: is not listed in MANIFEST"});
}

TEST_F(TwoCheckpoints, FilesOfAnotherStep) {
  std::filesystem::remove_all(newest_);
  std::filesystem::copy(folder_ / "step-00000001", newest_);
  expect_older({"state.json: is of step 1, but its folder is called step-00000002"});
  std::filesystem::rename(newest_, folder_ / "elsewhere");
  EXPECT_EQ(read_checkpoint(folder_ / "elsewhere").state.step, 1U);
  EXPECT_EQ(read_checkpoint((folder_ / "step-00000001").string() + "/").state.step, 1U);
}

/// The files are sparse, and are refused before they are read.
TEST_F(TwoCheckpoints, FilesThatAreTooLarge) {
  constexpr std::uintmax_t large = std::uintmax_t{1} << 33;
  std::filesystem::resize_file(newest_ / "state.json", large);
  write("MANIFEST", manifest_text({{"state.json", large, std::string(32, '0')}}));
  expect_older({"state.json: has 8589934592 bytes, more than the limit of 67108864"});
  std::filesystem::resize_file(newest_ / "MANIFEST", large);
  expect_older({"MANIFEST: has 8589934592 bytes, more than the limit of 65536"});
}

TEST_F(TwoCheckpoints, ANewerFormatIsNoReasonToTakeAnEarlierOne) {
  write("MANIFEST", "lockstep checkpoint 2\n");
  expect_error(Category::data, {"step-00000002/MANIFEST: made by a newer lockstep"}, [&] {
    newest_good_checkpoint(folder_.path(),
                           [](const Path&, const std::string& reason) { ADD_FAILURE() << reason; });
  });
}

TEST_F(TwoCheckpoints, WithoutAnyManifestTheyAreNoCheckpointsThatMayBeReplaced) {
  std::filesystem::remove(newest_ / "MANIFEST");
  check_manifests(folder_.path());
  std::filesystem::remove(folder_ / "step-00000001" / "MANIFEST");
  expect_error(Category::data, {"step-00000002: its MANIFEST is missing"},
               [&] { check_manifests(folder_.path()); });
}

TEST_F(TwoCheckpoints, NoCheckpoint) {
  expect_error(Category::data, {"nowhere/MANIFEST: cannot open"},
               [&] { read_checkpoint(folder_ / "nowhere"); });
  expect_error(Category::data, {"is not a whole checkpoint: it has no MANIFEST"},
               [&] { read_checkpoint(folder_.path()); });
  EXPECT_FALSE(is_checkpoint(folder_.path()));
  const auto reject = [](const Path&, const std::string& reason) { ADD_FAILURE() << reason; };
  EXPECT_FALSE(newest_good_checkpoint(folder_ / "nowhere", reject));
  EXPECT_TRUE(list_checkpoints(folder_ / "nowhere").empty());
}

}  // namespace
}  // namespace lockstep
