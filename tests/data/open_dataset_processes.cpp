// Run by mpirun on any number of ranks: all ranks read the same data set, and all fail if it is bad. The
// argument is a folder to create, on a file system that all ranks share.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "support/idx_files.h"

namespace lockstep {
namespace {

constexpr std::uint32_t count = 5;

void require(bool condition, const char* what) {
  if (!condition) {
    throw Error(Category::internal, what);
  }
}

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
  require(data.size() == count, "size");
  std::vector<std::uint8_t> buffer;
  for (std::uint32_t id = 0; id < count; ++id) {
    require(data.label(id) == static_cast<int>(id), "label");
    for (const std::uint8_t pixel : data.sample(id, buffer)) {
      require(pixel == 10 * id, "pixel");
    }
  }
}

/// Requires every rank to throw an error of this category.
void expect_failure(const World& world, Category category, const std::string& name,
                    const std::string& folder) {
  try {
    open_dataset(world, {.name = name, .directory = folder});
  } catch (const Error& error) {
    require(error.category() == category, "category");
    return;
  }
  require(false, "no error");
}

int check(World& world, const std::filesystem::path& folder) {
  const std::string good("\0\1\2\3\4", 5);
  world.agree([&] {
    if (world.rank() == 0) {
      std::filesystem::create_directories(folder);
      write_split(folder, "train", good);
      write_split(folder, "t10k", good);
    }
  });
  const DatasetPair pair = open_dataset(world, {.name = "mnist", .directory = folder.string()});
  check_samples(*pair.train);
  check_samples(*pair.test);
  expect_failure(world, Category::usage, "mnits", folder.string());
  expect_failure(world, Category::usage, "mnist", "");
  expect_failure(world, Category::data, "mnist", (folder / "missing").string());
  world.agree([&] {
    if (world.rank() == 0) {
      write_split(folder, "t10k", std::string("\0\1\2\3\x0a", 5));
    }
  });
  expect_failure(world, Category::data, "mnist", folder.string());
  world.barrier();
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  return lockstep::run_program(argc, argv,
                               [&](lockstep::World& world) { return lockstep::check(world, argv[1]); });
}
