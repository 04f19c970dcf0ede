#include "ops/cuda/kernels/parameters/finish_gradients.h"

#include <algorithm>

#include "device/cuda/native/launch.h"
#include "lockstep/error.h"
#include "ops/cuda/kernels/divisor.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/kernels/parameters/find_part.h"

namespace lockstep::cuda {
namespace {

/// Number of elements that a row of threads processes.
constexpr std::size_t row_elements = 1024;

std::size_t rows_for(std::size_t elements) { return (elements + row_elements - 1) / row_elements; }

LOCKSTEP_HD std::size_t terms_of(std::size_t elements, std::size_t row) {
  const std::size_t rest = elements - row * row_elements;
  return rest < row_elements ? rest : row_elements;
}

/// An Unpadding in the form that the kernel uses.
struct UnpaddingArgument {
  Index count, taps, group_inputs, padded_inputs;
  Index group_outputs, padded_group_outputs;
  Divisor by_taps, by_group_inputs;
  bool joins_groups;  ///< whether a padded group contains several groups
  const void* padded;
  float* weight;
};

UnpaddingArgument weights_of(const Unpadding& of) {
  const WeightForms& forms = of.forms;
  const bool one_group = forms.group_outputs == forms.out_channels;
  const bool same_groups =
      forms.group_outputs == forms.padded_group_outputs && forms.group_inputs == forms.padded_inputs;
  return {.count = forms.out_channels * forms.group_inputs * forms.taps,
          .taps = forms.taps,
          .group_inputs = forms.group_inputs,
          .padded_inputs = forms.padded_inputs,
          .group_outputs = forms.group_outputs,
          .padded_group_outputs = forms.padded_group_outputs,
          .by_taps = Divisor(forms.taps),
          .by_group_inputs = Divisor(forms.group_inputs),
          .joins_groups = !one_group && !same_groups,
          .padded = of.padded,
          .weight = of.weight};
}

/// Copies element `i`, counted in the order of `weight`, so that writes are contiguous.
template <class T>
LOCKSTEP_HD void unpad_element(const UnpaddingArgument& of, Index i) {
  const Index pair = of.by_taps.quotient(i);
  const Index tap = i - pair * of.taps;
  const Index k = of.by_group_inputs.quotient(pair);
  Index c = pair - k * of.group_inputs;
  if (of.joins_groups) {
    c += k / of.group_outputs * of.group_inputs - k / of.padded_group_outputs * of.padded_inputs;
  }
  of.weight[i] = to_float(static_cast<const T*>(of.padded)[(k * of.taps + tap) * of.padded_inputs + c]);
}

/// A ChunkAddition in the form that the kernel uses.
struct AdditionArgument {
  Index chunks, stride;
  const float* from;
  float* sums;
};

/// Kernel with one row of threads per row_elements elements of an unpadding, and one row per channel of an
/// addition. Only additions have a sum.
template <class T>
struct FinishGradients {
  using Sum = double;
  static constexpr std::size_t capacity = GradientFinish::capacity;
  Index unpaddings, additions, parts;
  std::size_t ends[2 * capacity];  ///< by part (unpaddings, then additions): end of its rows
  UnpaddingArgument weights[capacity];
  AdditionArgument addition[capacity];

  struct Place {
    Index part;
    std::size_t row;  ///< number within the part
  };
  LOCKSTEP_HD Place place(std::size_t row) const {
    const Index part = find_part(ends, parts, row);
    return {part, row - (part > 0 ? ends[part - 1] : 0)};
  }
  LOCKSTEP_HD bool unpads(const Place& at) const { return at.part < unpaddings; }
  LOCKSTEP_HD const AdditionArgument& addition_at(const Place& at) const {
    return addition[at.part - unpaddings];
  }

  LOCKSTEP_HD std::size_t terms(const Place& at) const {
    return unpads(at) ? terms_of(weights[at.part].count, at.row) : addition_at(at).chunks;
  }

  LOCKSTEP_HD double term(const Place& at, std::size_t k) const {
    if (unpads(at)) {
      unpad_element<T>(weights[at.part], static_cast<Index>(at.row * row_elements + k));
      return 0.0;
    }
    const AdditionArgument& of = addition_at(at);
    return static_cast<double>(of.from[k * of.stride + at.row]);
  }

  LOCKSTEP_HD void finish(const Place& at, double sum) const {
    if (!unpads(at)) addition_at(at).sums[at.row] = static_cast<float>(sum);
  }
};

}  // namespace

void GradientFinish::run() {
  if (std::max(unpaddings_.size(), additions_.size()) > capacity) {
    throw Error(Category::internal, "more gradients to finish than one kernel can");
  }
  with_stored(type_, [&]<class T>(T /*stored*/) {
    FinishGradients<T> work{};
    static_assert(sizeof(work) <= 4096, "arguments of a kernel");
    std::size_t rows = 0;
    const auto add = [&](std::size_t more) { work.ends[work.parts++] = rows += more; };
    for (const Unpadding& each : unpaddings_) {
      const UnpaddingArgument& weights = work.weights[work.unpaddings++] = weights_of(each);
      add(rows_for(weights.count));
    }
    for (const ChunkAddition& each : additions_) {
      work.addition[work.additions++] = {static_cast<Index>(chunks_of(each.problem)),
                                         static_cast<Index>(each.problem.channels), each.chunks, each.sums};
      add(static_cast<std::size_t>(each.channels));
    }
    if (rows > 0) for_each_row(stream_, rows, work);
  });
  unpaddings_.clear();
  additions_.clear();
}

}  // namespace lockstep::cuda
