// Lists the PTX kernels that were never launched. Usage: ptx_launched FILE..., where *.ptx files contain
// kernels, and all other files contain the launches of a test program (comparison.cpp).
#include <fmt/format.h>

#include <exception>
#include <set>

#include "fake_cuda/kernel_arguments.h"
#include "ptx/kernel_files.h"

int main(int count, char** arguments) {
  try {
    std::vector<std::filesystem::path> sources;
    std::set<std::string> launched;
    for (int i = 1; i < count; ++i) {
      const std::filesystem::path path = arguments[i];
      if (path.extension() == ".ptx") {
        sources.push_back(path);
        continue;
      }
      std::ifstream file(path);
      if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
      for (std::string name; std::getline(file, name);) launched.insert(name);
    }
    std::size_t kernels = 0, missing = 0;
    for (const std::filesystem::path& path : sources) {
      for (const lockstep::ptx::Kernel& kernel : lockstep::ptx::read_kernel_file(path)) {
        ++kernels;
        if (launched.contains(kernel.name)) continue;
        ++missing;
        fmt::print("never launched: {}: {}\n", path.stem().string(), lockstep::readable(kernel.name.c_str()));
      }
    }
    fmt::print("{} of {} kernels launched\n", kernels - missing, kernels);
    return kernels > 0 && missing == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
