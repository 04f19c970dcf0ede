#pragma once

#include <array>
#include <functional>
#include <typeinfo>

#include "device/cuda/launch.h"

namespace lockstep::cuda {

/// Adds `work` to the stream as a kernel; on the null stream, calls it at once. `name`: for lists of kernels;
/// the mangled name of the kernel's type.
void give(StreamHandle stream, const char* name, std::function<void()> work);

/// Calls work(i) for every i in [0, count), in any order, after earlier work of the stream.
template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  give(stream, typeid(Work).name(), [count, work] {
    for (std::size_t i = 0; i < count; ++i) work(i);
  });
}

/// For each row, adds work.term(row, k) for k in [0, work.terms(row)), then calls work.finish(row, sum). Sums
/// start as Work::Sum{} and add terms and other sums by `+=`, in a fixed order: sum t of 256 adds the terms
/// t, t + 256, ...; then sum t adds sum t + 128, t + 64, ..., t + 1. If the work has place(row), its result,
/// computed once per row, replaces `row` in these calls.
template <class Work>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work) {
  give(stream, typeid(Work).name(), [rows, work] {
    for (std::size_t row = 0; row < rows; ++row) {
      std::array<typename Work::Sum, row_threads> sums{};
      const auto place = place_in(work, row);
      const std::size_t terms = work.terms(place);
      for (std::size_t k = 0; k < terms; ++k) sums[k % row_threads] += work.term(place, k);
      for (unsigned apart = row_threads / 2; apart > 0; apart /= 2) {
        for (unsigned t = 0; t < apart; ++t) sums[t] += sums[t + apart];
      }
      work.finish(place, sums[0]);
    }
  });
}

}  // namespace lockstep::cuda
