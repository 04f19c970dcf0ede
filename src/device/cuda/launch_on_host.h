#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "device/cuda/launch.h"
#include "device/kernel_times.h"

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

/// Calls visit(k) for every k in [0, terms): ascending for each k modulo `threads`, which have no order.
template <class Visit>
void visit_terms(std::size_t terms, unsigned threads, const Visit& visit) {
  if (index_order == IndexOrder::ascending) {
    for (std::size_t k = 0; k < terms; ++k) visit(k);
  } else {
    visit_in_order(threads, [&](std::size_t t) {
      for (std::size_t k = t; k < terms; k += threads) visit(k);
    });
  }
}

/// Adds `run` to the stream as a kernel called `name` with the argument `work`. Bytes between the members of
/// `work` are not shown to `give`, as they may hold anything. Without a way to clear them (Clang 14), it is
/// shown nothing.
template <class Work, class Run>
void give_work(StreamHandle stream, [[maybe_unused]] Work work, Run run,
               const char* name = typeid(Work).name()) {
  static_assert(std::is_trivially_copyable_v<Work>, "a launch copies bytes");
  std::span<const std::byte> arguments;
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&work);
  arguments = std::as_bytes(std::span(&work, 1));
#endif
#endif
  timed_launch(stream, name, [&] { give(stream, name, arguments, std::move(run)); });
}

/// Calls work(i) for every i in [0, count), in any order, after earlier work of the stream.
template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  give_work(stream, work, [count, work] { visit_in_order(count, work); });
}

/// Adds up a row and calls finish(place, lane, sum) for each lane.
template <class Work, class Finish>
void sum_row(const Work& work, std::size_t row, const Finish& finish) {
  const unsigned lanes = lanes_of(work);
  const unsigned threads = row_threads / lanes;  // of a lane
  std::array<typename Work::Sum, row_threads> sums{};
  visit_in_order(lanes, [&](std::size_t lane) {
    const auto place = place_in(work, row, static_cast<unsigned>(lane));
    const std::size_t terms = work.terms(place);
    visit_terms(terms, threads, [&](std::size_t k) {
      sums[k % threads * lanes + lane] += term_of(work, place, k, load_for(work, place, k));
    });
  });
  for (unsigned apart = row_threads / 2; apart >= lanes; apart /= 2) {
    for (unsigned t = 0; t < apart; ++t) sums[t] += sums[t + apart];
  }
  for (unsigned lane = 0; lane < lanes; ++lane) finish(place_in(work, row, lane), lane, sums[lane]);
}

/// For each row, adds work.term(row, k) for k in [0, work.terms(row)), then calls work.finish(row, sum). Sums
/// start as Work::Sum{} and add terms and other sums by `+=`, in a fixed order: sum t of 256 adds the terms
/// t, t + 256, ...; then sum t adds sum t + 128, t + 64, ..., t + 1. The work may have
///
///   place(row)         the result, computed once per row, replaces `row` in these calls
///   lanes()            number of lanes of a row, a power of two up to max_row_lanes, with a sum each. Sum t
///                      belongs to lane t % lanes and adds its terms t / lanes, t / lanes + 256 / lanes, ...;
///                      then sum t adds sum t + 128, t + 64, ..., t + lanes. Adjacent threads can then read
///                      adjacent memory
///   place(row, lane)   replaces place(row) if there are lanes
///   load(place, k)     reads memory for term(place, k, loaded): Work::ahead loads are made before as many
///                      terms, as a GPU reaches its bandwidth only with many reads under way
template <class Work>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work) {
  give_work(stream, work, [rows, work] {
    visit_in_order(rows, [&](std::size_t row) {
      sum_row(work, row, [&](const auto& place, unsigned /*lane*/, const typename Work::Sum& sum) {
        work.finish(place, sum);
      });
    });
  });
}

/// Two works that run in one kernel.
template <class Work, class Then>
struct BothWorks {
  Work work;
  Then then;
};

/// Does the above, and then for each row and lane of `then`, which may differ in number from those of `work`,
/// then.store(place, k, then.load(place, k)) for k in [0, then.terms(place)), in any order, Then::ahead loads
/// before as many stores. `place` is then.place(row, lane, results); results[l] is what work.finish returned
/// for lane l of the row, a Work::Result.
template <class Work, class Then>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work, const Then& then) {
  const auto run_row = [work, then](std::size_t row) {
    std::array<typename Work::Result, max_row_lanes> results;
    sum_row(work, row, [&](const auto& place, unsigned lane, const typename Work::Sum& sum) {
      results[lane] = work.finish(place, sum);
    });
    visit_in_order(lanes_of(then), [&](std::size_t lane) {
      const auto place = place_in(then, row, static_cast<unsigned>(lane), std::as_const(results).data());
      constexpr std::size_t ahead = Then::ahead;
      const std::size_t terms = then.terms(place);
      visit_in_order((terms + ahead - 1) / ahead, [&](std::size_t number) {
        const std::size_t first = number * ahead;
        const std::size_t count = std::min(ahead, terms - first);
        std::array<decltype(then.load(place, first)), ahead> loaded;
        for (std::size_t k = 0; k < count; ++k) loaded[k] = then.load(place, first + k);
        for (std::size_t k = 0; k < count; ++k) then.store(place, first + k, loaded[k]);
      });
    });
  };
  give_work(
      stream, BothWorks<Work, Then>{work, then}, [rows, run_row] { visit_in_order(rows, run_row); },
      typeid(Then).name());
}

}  // namespace lockstep::cuda
