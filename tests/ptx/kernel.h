#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptx/operations.h"

/// PTX of kernels as nvcc writes it, and its execution on the host. Blocks run one after another, and so do
/// the threads of a block between barriers. Nothing is shown of what ptxas makes of PTX.
namespace lockstep::ptx {

enum class Space { global, shared, local, parameter };

struct Instruction {
  enum class Kind {
    compute,  ///< results[0] = operation(operands)
    load,     ///< results = memory at operands[0] + offset
    store,    ///< memory at operands[0] + offset = operands[1], ...
    pack,     ///< results[0] = the operands beside each other, the lowest first
    unpack,   ///< results = pieces of operands[0]
    shuffle,  ///< results[0] = operands[0] of the lane operands[1] above; results[1]: whether there is one
    barrier,
    branch,  ///< to `target`
    end,
  };

  Kind kind = Kind::end;
  std::string text;  ///< for messages
  int guard = -1;    ///< register without which (`negated`: with which) nothing is done; -1: none
  bool negated = false;
  Operation operation = {};
  std::array<int, 4> results = {-1, -1, -1, -1};  ///< registers; -1: none
  std::array<int, 5> operands{};                  ///< registers
  unsigned count = 0;                             ///< of pieces, or of values in memory
  unsigned bytes = 0;                             ///< of each
  Space space = Space::global;
  bool is_signed = false;
  Word mask = ~Word{0};  ///< width of the result
  std::int64_t offset = 0;
  std::size_t target = 0;  ///< number of an instruction
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

/// Kernels of a text, in its order. Throws std::runtime_error naming the line and what is not known.
std::vector<Kernel> read_kernels(const std::string& text);

/// Called with the bytes of a kernel's store to global memory before they change.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void before_store(const void* address, std::size_t bytes) = 0;
};

/// Runs a grid. `parameters`: their bytes, as the kernel declares them. Throws std::runtime_error: an access
/// is misaligned, or beyond memory that is not global; threads wait at different places.
void run(const Kernel& kernel, unsigned blocks, unsigned threads, std::span<const std::byte> parameters,
         StoreObserver& observer);

}  // namespace lockstep::ptx
