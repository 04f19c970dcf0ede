#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptx/operations.h"

/// Reads the PTX that nvcc emits for kernels, and executes it on the host. Blocks run one after another, and
/// so do the threads of a block between barriers. This tests PTX, not the machine code that ptxas generates
/// from it.
namespace lockstep::ptx {

enum class Space { global, shared, local, parameter };

struct Instruction {
  enum class Kind {
    compute,  ///< results[0] = operation(operands)
    load,     ///< results = memory at operands[0] + offset
    store,    ///< memory at operands[0] + offset = operands[1], ...
    pack,     ///< results[0] = the operands concatenated, the lowest first
    unpack,   ///< results = pieces of operands[0]
    shuffle,  ///< results[0] = operands[0] of the lane operands[1] higher; results[1]: if that lane exists
    barrier,
    branch,  ///< jumps to `target`
    end,
  };

  Kind kind = Kind::end;
  std::string text;  ///< for messages
  int guard = -1;    ///< predicate register; if false (`negated`: true), nothing is done; -1: none
  bool negated = false;
  Operation operation = {};
  std::array<int, 4> results = {-1, -1, -1, -1};  ///< registers; -1: none
  std::array<int, 5> operands{};                  ///< registers
  unsigned count = 0;                             ///< number of pieces, or of values in memory
  unsigned bytes = 0;                             ///< size of each piece or value
  Space space = Space::global;
  bool is_signed = false;
  Word mask = ~Word{0};  ///< ones in the width of the result
  std::int64_t offset = 0;
  std::size_t target = 0;  ///< index of an instruction
};

struct Parameter {
  std::size_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;  ///< mangled
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
  std::vector<Instruction> code;
  std::vector<Word> registers;  ///< initial values; constants are registers, too
  int thread = 0, block = 0;    ///< registers of the thread's and the block's index
};

/// Kernels of a PTX text, in its order. Throws std::runtime_error naming the line and what is unknown.
std::vector<Kernel> read_kernels(const std::string& text);

/// Called before each store of a kernel to global memory, with the bytes that will change.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void before_store(const void* address, std::size_t bytes) = 0;
};

/// Runs a grid. `parameters`: bytes of the parameters, laid out as the kernel declares them. Throws
/// std::runtime_error if an access is misaligned, if it exceeds shared, local or parameter memory, or if
/// threads wait at different instructions.
void run(const Kernel& kernel, unsigned blocks, unsigned threads, std::span<const std::byte> parameters,
         StoreObserver& observer);

}  // namespace lockstep::ptx
