#pragma once

#include <cstdint>
#include <string>

namespace lockstep::ptx {

/// Value of a register. Bits above the register's width are 0.
using Word = std::uint64_t;

/// Arithmetic of an instruction without side effects.
struct Operation {
  unsigned operands = 0;
  Word (*compute)(Word a, Word b, Word c, Word d) = nullptr;
};

/// Operation of a mnemonic, such as `add.rn.f32`; null: unknown. Those are known that nvcc uses for
/// lockstep's kernels. Others must be added with care: instructions with `.ftz` or `.approx` would give a GPU
/// other bits than the host. A NaN has the bits that the host gives it.
const Operation* find_operation(const std::string& mnemonic);

}  // namespace lockstep::ptx
