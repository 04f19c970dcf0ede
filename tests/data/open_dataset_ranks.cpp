// All ranks read the same data set, and all fail if it is bad.
#include <filesystem>
#include <fstream>

#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "support/idx_files.h"
#include "support/ranks_test.h"
#include "support/shared_folder.h"

namespace lockstep {
namespace {

constexpr std::uint32_t count = 5;

/// Every pixel of image i is 10 i, its label i.
std::string pixels() {
  std::string text;
  for (std::uint32_t id = 0; id < count; ++id) {
    text.append(28 * 28, static_cast<char>(10 * id));
  }
  return text;
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

void write_split(const std::filesystem::path& folder, const std::string& split, const std::string& labels) {
  write(folder / (split + "-images-idx3-ubyte.gz"), gzip(idx({count, 28, 28}, pixels())));
  write(folder / (split + "-labels-idx1-ubyte"), idx({count}, labels));
}

void check_samples(const Dataset& data) {
  EXPECT_EQ(data.size(), count);
  std::vector<std::uint8_t> buffer;
  for (std::uint32_t id = 0; id < count; ++id) {
    EXPECT_EQ(data.label(id), static_cast<int>(id));
    for (const std::uint8_t pixel : data.sample(id, buffer)) {
      EXPECT_EQ(pixel, 10 * id);
    }
  }
}

/// Expects every rank to throw an error of this category.
void expect_failure(const World& world, Category category, const std::string& name,
                    const std::string& folder) {
  try {
    open_dataset(world, {.name = name, .directory = folder});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), category);
  }
}

class OpenDataset : public test::RanksTest {};

TEST_F(OpenDataset, AllRanksReadTheSameOrFail) {
  const test::SharedFolder shared(world());
  const std::filesystem::path& folder = shared.path();
  const auto on_rank_0 = [&](const std::function<void()>& work) {
    world().agree([&] {
      if (world().rank() == 0) work();
    });
  };
  const std::string good("\0\1\2\3\4", 5);
  on_rank_0([&] {
    write_split(folder, "train", good);
    write_split(folder, "t10k", good);
  });
  const DatasetPair pair = open_dataset(world(), {.name = "mnist", .directory = folder.string()});
  check_samples(*pair.train);
  check_samples(*pair.test);
  expect_failure(world(), Category::usage, "mnits", folder.string());
  expect_failure(world(), Category::usage, "mnist", "");
  expect_failure(world(), Category::data, "mnist", (folder / "missing").string());
  on_rank_0([&] { write_split(folder, "t10k", std::string("\0\1\2\3\x0a", 5)); });
  expect_failure(world(), Category::data, "mnist", folder.string());
  world().barrier();
}

}  // namespace
}  // namespace lockstep
