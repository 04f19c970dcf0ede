// Also runs each grid from nvcc's PTX, and reports a fault unless both runs leave the same bytes in all
// memory that the grid's arguments point to, and wherever the PTX stores; only NaN may differ. Linked into
// test programs; active if TEST_PTX names PTX files, separated by colons. Writes the names of the kernels
// that ran to the file TEST_PTX_LAUNCHES.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "fake_cuda/grid.h"
#include "fake_cuda/kernel_arguments.h"
#include "fake_cuda/machine.h"
#include "ptx/kernel.h"
#include "ptx/kernel_files.h"

namespace lockstep::ptx {
namespace {

/// Whether both values are NaN, of any sign. `a` and `b`: the upper 16 bits of floats or
/// doubles, or bfloat16.
bool are_nan(const std::byte* a, const std::byte* b) {
  const auto is_nan = [](const std::byte* upper) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, upper, sizeof bits);
    return (bits & 0x7fffU) > 0x7f80U;
  };
  return is_nan(a) && is_nan(b);
}

/// Allocations that a launch uses, with their contents before the launch.
class Memory final : public StoreObserver {
 public:
  explicit Memory(const fake_cuda::Grid& grid) {
    for (const auto& argument : grid.arguments) {
      for (const void* address : addresses_in(argument)) find(address);
    }
  }

  void before_store(const void* address, std::size_t bytes) override {
    if (last_ != nullptr && last_->contains(address, bytes)) return;
    last_ = find(address);
    if (last_ != nullptr) return;
    // Memory of the host, which tests of single kernels use on the null stream.
    last_ = &add(address, bytes);
  }

  /// Saves the contents that the PTX has left, and restores the contents from before its run.
  void restore() {
    for (auto& [begin, each] : allocations_) {
      std::swap_ranges(each.other.begin(), each.other.end(), each.begin);
    }
  }

  /// Describes the first byte that differs from the contents that restore() saved; empty if there is none.
  std::string difference() const {
    for (const auto& [begin, each] : allocations_) {
      const std::byte* const own = each.begin;
      const std::byte* const other = each.other.data();
      for (std::size_t at = 0, end = each.other.size(); at < end; ++at) {
        at = static_cast<std::size_t>(std::mismatch(own + at, own + end, other + at).first - own);
        if (at == end || (at % 2 == 1 && are_nan(own + at - 1, other + at - 1))) continue;
        return fmt::format("byte {} of an allocation of {} is {:#04x}, and {:#04x} by PTX", at, end, own[at],
                           other[at]);
      }
    }
    return {};
  }

 private:
  struct Allocation {
    std::byte* begin;
    std::vector<std::byte> other;

    bool contains(const void* address, std::size_t bytes) const {
      const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin);
      return at < other.size() && bytes <= other.size() - at;
    }
  };

  Allocation* find(const void* address) {
    fake_cuda::Machine& machine = fake_cuda::machine();
    const std::lock_guard lock(machine.mutex);
    const auto found = machine.allocation_of(address);
    if (found == machine.allocations.end()) return nullptr;
    return &add(found->first, found->second.bytes);
  }

  Allocation& add(const void* address, std::size_t bytes) {
    auto* const begin = static_cast<std::byte*>(const_cast<void*>(address));
    const auto [at, is_new] = allocations_.try_emplace(begin);
    if (is_new) at->second = {begin, {begin, begin + bytes}};
    return at->second;
  }

  std::map<const std::byte*, Allocation> allocations_;
  Allocation* last_ = nullptr;
};

class Comparison {
 public:
  explicit Comparison(const std::string& files) {
    std::istringstream names(files);
    for (std::string name; std::getline(names, name, ':');) {
      for (Kernel& kernel : read_kernel_file(name)) {
        const std::string arguments = arguments_of(kernel.name);
        if (!kernels_.try_emplace(arguments, std::move(kernel)).second) {
          throw std::runtime_error(name + ": another kernel has the arguments " + arguments);
        }
      }
    }
  }
  ~Comparison() {
    if (const char* file = std::getenv("TEST_PTX_LAUNCHES")) {
      std::ofstream out(file);
      for (const std::string& name : launched_) out << name << '\n';
    }
  }

  void run(const fake_cuda::Grid& grid, const std::function<void()>& on_host) {
    Memory memory(grid);
    const Kernel& kernel = find(grid);
    launched_.insert(kernel.name);
    ptx::run(kernel, grid.blocks, grid.threads, parameters(kernel, grid), memory);
    memory.restore();
    on_host();
    if (const std::string text = memory.difference(); !text.empty()) {
      const std::lock_guard lock(fake_cuda::machine().mutex);
      fake_cuda::machine().fault(fmt::format("{}: {}", readable(kernel.name.c_str()), text));
    }
  }

 private:
  const Kernel& find(const fake_cuda::Grid& grid) const {
    const std::string arguments = arguments_of(grid.type);
    const auto found = kernels_.find(arguments);
    if (found == kernels_.end()) throw std::runtime_error("no PTX of a kernel with arguments " + arguments);
    return found->second;
  }

  /// Arguments in the mangled name or type of a function: the last parentheses of the demangled text.
  static std::string arguments_of(const std::string& mangled) {
    const std::string text = readable(mangled.c_str());
    int depth = 0;
    std::size_t at = text.size();
    do {
      --at;
      depth += text[at] == ')' ? 1 : text[at] == '(' ? -1 : 0;
    } while (at > 0 && depth > 0);
    return text.substr(at);
  }

  static std::vector<std::byte> parameters(const Kernel& kernel, const fake_cuda::Grid& grid) {
    std::vector<std::byte> bytes(kernel.parameter_bytes);
    for (std::size_t i = 0; i < grid.arguments.size(); ++i) {
      const Parameter& declared = kernel.parameters.at(i);
      if (declared.bytes != grid.arguments[i].size()) {
        throw std::runtime_error(fmt::format("{}: argument {} has {} bytes, and {} on the host", kernel.name,
                                             i, declared.bytes, grid.arguments[i].size()));
      }
      std::ranges::copy(grid.arguments[i], bytes.begin() + static_cast<std::ptrdiff_t>(declared.offset));
    }
    return bytes;
  }

  std::map<std::string, Kernel> kernels_;  ///< by arguments
  std::set<std::string> launched_;
};

const bool is_set = [] {
  const char* files = std::getenv("TEST_PTX");
  if (files == nullptr) return false;
  static Comparison comparison(files);
  fake_cuda::set_runner([](const auto& grid, const auto& on_host) { comparison.run(grid, on_host); });
  return true;
}();

}  // namespace
}  // namespace lockstep::ptx
