#pragma once

#include <array>
#include <functional>
#include <typeinfo>

#include "device/cuda/launch.h"

namespace lockstep::cuda {

/// Calls `work` now on the null stream; else it takes its place in what the stream is given, as kernels do.
/// `name`: for lists of what was given; a kernel's is that of its type, as the compiler mangles it.
void give(StreamHandle stream, const char* name, std::function<void()> work);

/// Calls work(i) for every i in [0, count), in any order, after the work that the stream was given before.
template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  give(stream, typeid(Work).name(), [count, work] {
    for (std::size_t i = 0; i < count; ++i) work(i);
  });
}

/// For every row: folds work.term(row, k) for k in [0, work.terms(row)), then calls work.finish(row, sum).
/// A sum begins as Work::Sum{} and grows by `+=`, on terms and on sums. The order is fixed: sum t of 256
/// takes k = t, t + 256, ...; then sum t takes in sum t + 128, t + 64, ..., t + 1.
/// What takes time to find for a row, work.place(row) finds once: its result is given for `row` above.
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
