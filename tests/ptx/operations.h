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

/// Operation of a mnemonic, such as `add.rn.f32`; null: unknown. Covers the mnemonics that nvcc uses for
/// lockstep's kernels. Add others with care: with `.ftz` or `.approx`, a GPU would compute other bits than
/// the host. The bits of a NaN are the host's.
const Operation* find_operation(const std::string& mnemonic);

}  // namespace lockstep::ptx
