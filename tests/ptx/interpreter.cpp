#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "ptx/kernel.h"

namespace lockstep::ptx {
namespace {

constexpr unsigned warp_threads = 32;
/// Initial contents of shared and local memory: a large number if read as a float.
constexpr auto garbage = std::byte{0x7c};

struct Thread {
  enum class State { ready, at_barrier, at_shuffle, ended } state = State::ready;
  std::size_t at = 0;  ///< index of the next instruction
  std::vector<Word> registers;
  std::vector<std::byte> local;
};

class Grid {
 public:
  Grid(const Kernel& kernel, unsigned threads, std::span<const std::byte> parameters, StoreObserver& observer)
      : kernel_(kernel),
        parameters_(parameters.begin(), parameters.end()),
        observer_(observer),
        shared_(kernel.shared_bytes),
        threads_(threads) {}

  void run_block(unsigned block) {
    std::fill(shared_.begin(), shared_.end(), garbage);
    for (unsigned t = 0; t < threads_.size(); ++t) {
      threads_[t].state = Thread::State::ready;
      threads_[t].at = 0;
      threads_[t].registers = kernel_.registers;
      threads_[t].registers[index(kernel_.thread)] = t;
      threads_[t].registers[index(kernel_.block)] = block;
      threads_[t].local.assign(kernel_.local_bytes, garbage);
    }
    do {
      for (std::size_t first = 0; first < threads_.size(); first += warp_threads) {
        run_warp(
            std::span(threads_).subspan(first, std::min<std::size_t>(warp_threads, threads_.size() - first)));
      }
    } while (release(threads_, Thread::State::at_barrier));
  }

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  [[noreturn]] void fail(const Thread& thread, const std::string& what) const {
    throw std::runtime_error(kernel_.name + ": " + kernel_.code[thread.at].text + ": " + what + " (block " +
                             std::to_string(threads_[0].registers[index(kernel_.block)]) + ", thread " +
                             std::to_string(thread.registers[index(kernel_.thread)]) + ")");
  }

  /// If any thread waits in `state`, continues all threads, which must wait at the same instruction. Returns
  /// whether any thread waited.
  bool release(std::span<Thread> threads, Thread::State state) {
    if (std::ranges::none_of(threads, [&](const Thread& each) { return each.state == state; })) return false;
    for (Thread& thread : threads) {
      if (thread.state != state || thread.at != threads.front().at)
        fail(thread, "other threads wait elsewhere");
    }
    for (Thread& thread : threads) {
      ++thread.at;
      thread.state = Thread::State::ready;
    }
    return true;
  }

  void run_warp(std::span<Thread> warp) {
    do {
      for (Thread& thread : warp) {
        while (thread.state == Thread::State::ready) step(thread);
      }
      if (std::ranges::any_of(warp,
                              [](const Thread& each) { return each.state == Thread::State::at_shuffle; })) {
        shuffle(warp);
      }
    } while (release(warp, Thread::State::at_shuffle));
  }

  /// Moves words down the lanes of a warp.
  void shuffle(std::span<Thread> warp) {
    const Instruction& instruction = kernel_.code[warp.front().at];
    std::vector<Word> given;
    for (const Thread& thread : warp) given.push_back(thread.registers[index(instruction.operands[0])]);
    for (std::size_t lane = 0; lane < warp.size(); ++lane) {
      auto& registers = warp[lane].registers;
      const Word from = lane + registers[index(instruction.operands[1])];
      const bool exists = from < warp.size();
      registers[index(instruction.results[0])] = given[exists ? from : lane];
      if (instruction.results[1] >= 0) registers[index(instruction.results[1])] = exists;
    }
  }

  void step(Thread& thread) {
    const Instruction& instruction = kernel_.code[thread.at];
    Word* const registers = thread.registers.data();
    if (instruction.guard >= 0 && (registers[instruction.guard] != 0) == instruction.negated) {
      ++thread.at;
      return;
    }
    const auto operand = [&](unsigned i) { return registers[instruction.operands[i]]; };
    switch (instruction.kind) {
      case Instruction::Kind::compute:
        registers[instruction.results[0]] =
            instruction.operation.compute(operand(0), operand(1), operand(2), operand(3));
        break;
      case Instruction::Kind::load:
        load(thread, instruction);
        break;
      case Instruction::Kind::store:
        store(thread, instruction);
        break;
      case Instruction::Kind::pack: {
        Word packed = 0;
        for (unsigned i = 0; i < instruction.count; ++i) {
          packed |= (operand(i) & instruction.mask) << (8 * instruction.bytes * i);
        }
        registers[instruction.results[0]] = packed;
        break;
      }
      case Instruction::Kind::unpack: {
        const Word packed = operand(0);
        for (unsigned i = 0; i < instruction.count; ++i) {
          registers[instruction.results[i]] = packed >> (8 * instruction.bytes * i) & instruction.mask;
        }
        break;
      }
      case Instruction::Kind::shuffle:
        thread.state = Thread::State::at_shuffle;
        return;
      case Instruction::Kind::barrier:
        thread.state = Thread::State::at_barrier;
        return;
      case Instruction::Kind::branch:
        thread.at = instruction.target;
        return;
      case Instruction::Kind::end:
        thread.state = Thread::State::ended;
        return;
    }
    ++thread.at;
  }

  /// Host address of the memory that a load or store accesses. Global addresses are host addresses.
  std::byte* memory(Thread& thread, const Instruction& instruction) {
    const Word address =
        thread.registers[index(instruction.operands[0])] + static_cast<Word>(instruction.offset);
    const std::size_t bytes = std::size_t{instruction.bytes} * instruction.count;
    if (address % bytes != 0) fail(thread, "misaligned address " + std::to_string(address));
    if (instruction.space == Space::global) return reinterpret_cast<std::byte*>(address);
    std::vector<std::byte>& all = instruction.space == Space::shared  ? shared_
                                  : instruction.space == Space::local ? thread.local
                                                                      : parameters_;
    if (address > all.size() || bytes > all.size() - address) {
      fail(thread, "address " + std::to_string(address) + " of " + std::to_string(all.size()) + " bytes");
    }
    return all.data() + address;
  }

  void load(Thread& thread, const Instruction& instruction) {
    const std::byte* const from = memory(thread, instruction);
    for (unsigned i = 0; i < instruction.count; ++i) {
      Word value = 0;
      std::memcpy(&value, from + std::size_t{instruction.bytes} * i, instruction.bytes);
      if (instruction.is_signed) {
        const unsigned above = 64 - 8 * instruction.bytes;
        value = static_cast<Word>(static_cast<std::int64_t>(value << above) >> above);
      }
      thread.registers[index(instruction.results[i])] = value & instruction.mask;
    }
  }

  void store(Thread& thread, const Instruction& instruction) {
    std::byte* const to = memory(thread, instruction);
    if (instruction.space == Space::global) {
      observer_.before_store(to, std::size_t{instruction.bytes} * instruction.count);
    }
    for (unsigned i = 0; i < instruction.count; ++i) {
      std::memcpy(to + std::size_t{instruction.bytes} * i,
                  &thread.registers[index(instruction.operands[i + 1])], instruction.bytes);
    }
  }

  const Kernel& kernel_;
  std::vector<std::byte> parameters_;
  StoreObserver& observer_;
  std::vector<std::byte> shared_;
  std::vector<Thread> threads_;
};

}  // namespace

void run(const Kernel& kernel, unsigned blocks, unsigned threads, std::span<const std::byte> parameters,
         StoreObserver& observer) {
  Grid grid(kernel, threads, parameters, observer);
  for (unsigned block = 0; block < blocks; ++block) grid.run_block(block);
}

}  // namespace lockstep::ptx
