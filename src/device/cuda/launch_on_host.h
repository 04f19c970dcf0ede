#pragma once

#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "device/cuda/launch.h"

namespace lockstep::cuda {

/// Adds `work` to the stream as a kernel; on the null stream, calls it at once. `name`: for lists of kernels;
/// the mangled name of the kernel's type. `arguments`: what a launch copies to the GPU, or nothing.
void give(StreamHandle stream, const char* name, std::span<const std::byte> arguments,
          std::function<void()> work);

/// Order in which kernels call their work for indices and rows. Set by tests: no result may depend on it.
enum class IndexOrder { ascending, descending, shuffled };
inline IndexOrder index_order = IndexOrder::ascending;

/// Calls visit(i) for every i in [0, count) in the order of `index_order`.
template <class Visit>
void visit_in_order(std::size_t count, const Visit& visit) {
  if (index_order == IndexOrder::ascending) {
    for (std::size_t i = 0; i < count; ++i) visit(i);
  } else if (index_order == IndexOrder::descending) {
    for (std::size_t i = count; i > 0; --i) visit(i - 1);
  } else {
    std::size_t stride = count / 2 + count / 8 + 1;
    while (std::gcd(stride, count) != 1) ++stride;
    for (std::size_t i = 0, at = count / 3; i < count; ++i, at = (at + stride) % count) visit(at);
  }
}

/// Calls visit(k) for every k in [0, terms): ascending for each k modulo row_threads, whose threads have no
/// order.
template <class Visit>
void visit_terms(std::size_t terms, const Visit& visit) {
  if (index_order == IndexOrder::ascending) {
    for (std::size_t k = 0; k < terms; ++k) visit(k);
  } else {
    visit_in_order(row_threads, [&](std::size_t t) {
      for (std::size_t k = t; k < terms; k += row_threads) visit(k);
    });
  }
}

/// Adds `run` to the stream as a kernel with the argument `work`. Bytes between the members of `work` are not
/// shown to `give`, as they may hold anything. Without a way to clear them (Clang 14), it is shown nothing.
template <class Work, class Run>
void give_work(StreamHandle stream, Work work, Run run) {
  static_assert(std::is_trivially_copyable_v<Work>, "a launch copies bytes");
  std::span<const std::byte> arguments;
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&work);
  arguments = std::as_bytes(std::span(&work, 1));
#endif
#endif
  give(stream, typeid(Work).name(), arguments, std::move(run));
}

/// Calls work(i) for every i in [0, count), in any order, after earlier work of the stream.
template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  give_work(stream, work, [count, work] { visit_in_order(count, work); });
}

/// For each row, adds work.term(row, k) for k in [0, work.terms(row)), then calls work.finish(row, sum). Sums
/// start as Work::Sum{} and add terms and other sums by `+=`, in a fixed order: sum t of 256 adds the terms
/// t, t + 256, ...; then sum t adds sum t + 128, t + 64, ..., t + 1. If the work has place(row), its result,
/// computed once per row, replaces `row` in these calls.
template <class Work>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work) {
  give_work(stream, work, [rows, work] {
    visit_in_order(rows, [&](std::size_t row) {
      std::array<typename Work::Sum, row_threads> sums{};
      const auto place = place_in(work, row);
      const std::size_t terms = work.terms(place);
      visit_terms(terms, [&](std::size_t k) { sums[k % row_threads] += work.term(place, k); });
      for (unsigned apart = row_threads / 2; apart > 0; apart /= 2) {
        for (unsigned t = 0; t < apart; ++t) sums[t] += sums[t + apart];
      }
      work.finish(place, sums[0]);
    });
  });
}

}  // namespace lockstep::cuda
