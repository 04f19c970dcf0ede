#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptx/kernel.h"

namespace lockstep::ptx {

/// Same as read_kernels, for a file. Errors name the file.
inline std::vector<Kernel> read_kernel_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  try {
    return read_kernels({std::istreambuf_iterator<char>(file), {}});
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path.string() + ", " + error.what());
  }
}

}  // namespace lockstep::ptx
