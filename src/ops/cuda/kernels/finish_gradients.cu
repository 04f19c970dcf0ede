#include "ops/cuda/kernels/finish_gradients.h"

#include <algorithm>

#include "lockstep/error.h"
#include "ops/cuda/kernels/find_part.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

using Index = unsigned;

/// Elements that a row of threads moves.
constexpr std::size_t row_elements = 1024;

std::size_t rows_for(std::size_t elements) { return (elements + row_elements - 1) / row_elements; }

LOCKSTEP_HD std::size_t terms_of(std::size_t elements, std::size_t row) {
  const std::size_t rest = elements - row * row_elements;
  return rest < row_elements ? rest : row_elements;
}

LOCKSTEP_HD std::size_t weights_of(const WeightForms& forms) {
  return std::size_t{forms.out_channels} * forms.group_inputs * forms.taps;
}

LOCKSTEP_HD void observe_channel(const NormObservation& of, std::size_t c) {
  const auto n = static_cast<double>(of.values);
  const auto unbiased = static_cast<float>(n > 1.0 ? n / (n - 1.0) : 1.0);
  const auto inverse = static_cast<double>(of.inverse_deviation[c]);
  const double variance = 1.0 / (inverse * inverse) - of.eps;
  const auto samples = static_cast<float>(of.samples);
  of.grad_mean[c] = samples * of.mean[c];
  of.grad_variance[c] = samples * (static_cast<float>(variance < 0.0 ? 0.0 : variance) * unbiased);
}

/// A ChunkAddition as the kernel has it.
struct Addition {
  std::size_t chunks;
  int stride;
  const float* from;
  float* sums;
};

/// Rows of threads: some for each tensor of weights, one for each channel of an addition, some for each
/// observation; only additions have a sum.
template <class T>
struct FinishGradients {
  using Sum = double;
  static constexpr std::size_t capacity = GradientFinish::capacity;
  Index unpaddings, additions, parts;
  std::size_t ends[3 * capacity];  ///< rows of each part, in that order
  Unpadding unpadding[capacity];
  Addition addition[capacity];
  NormObservation observation[capacity];

  struct Place {
    Index part;
    std::size_t row;  ///< of the part
  };
  LOCKSTEP_HD Place place(std::size_t row) const {
    const Index part = find_part(ends, parts, row);
    return {part, row - (part > 0 ? ends[part - 1] : 0)};
  }
  LOCKSTEP_HD bool unpads(const Place& at) const { return at.part < unpaddings; }
  LOCKSTEP_HD bool adds(const Place& at) const { return !unpads(at) && at.part < unpaddings + additions; }
  LOCKSTEP_HD const Addition& addition_at(const Place& at) const { return addition[at.part - unpaddings]; }
  LOCKSTEP_HD const NormObservation& observation_at(const Place& at) const {
    return observation[at.part - unpaddings - additions];
  }

  LOCKSTEP_HD std::size_t terms(std::size_t row) const {
    const Place at = place(row);
    if (unpads(at)) return terms_of(weights_of(unpadding[at.part].forms), at.row);
    if (adds(at)) return addition_at(at).chunks;
    return terms_of(static_cast<std::size_t>(observation_at(at).channels), at.row);
  }

  LOCKSTEP_HD double term(std::size_t row, std::size_t k) const {
    const Place at = place(row);
    if (adds(at)) {
      const Addition& of = addition_at(at);
      return static_cast<double>(of.from[k * static_cast<std::size_t>(of.stride) + at.row]);
    }
    const std::size_t element = at.row * row_elements + k;
    if (unpads(at)) {
      unpad_element(unpadding[at.part], static_cast<Index>(element));
    } else {
      observe_channel(observation_at(at), element);
    }
    return 0.0;
  }

  LOCKSTEP_HD void finish(std::size_t row, double sum) const {
    const Place at = place(row);
    if (adds(at)) addition_at(at).sums[at.row] = static_cast<float>(sum);
  }

  LOCKSTEP_HD static void unpad_element(const Unpadding& of, Index i) {
    const WeightForms& forms = of.forms;
    const Index tap = i % forms.taps;
    const Index k = i / forms.taps / forms.group_inputs;
    const Index c = k / forms.group_outputs * forms.group_inputs + i / forms.taps % forms.group_inputs;
    const Index first = k / forms.padded_group_outputs * forms.padded_inputs;
    of.weight[i] =
        to_float(static_cast<const T*>(of.padded)[(k * forms.taps + tap) * forms.padded_inputs + c - first]);
  }
};

}  // namespace

void GradientFinish::run() {
  if (std::max({unpaddings_.size(), additions_.size(), observations_.size()}) > capacity) {
    throw Error(Category::internal, "too many gradients are to be finished at once");
  }
  with_stored(type_, [&](auto stored) {
    FinishGradients<decltype(stored)> work{};
    static_assert(sizeof(work) <= 4096, "what a kernel may be given");
    std::size_t rows = 0;
    const auto add = [&](std::size_t more) { work.ends[work.parts++] = rows += more; };
    for (const Unpadding& each : unpaddings_) {
      work.unpadding[work.unpaddings++] = each;
      add(rows_for(weights_of(each.forms)));
    }
    for (const ChunkAddition& each : additions_) {
      work.addition[work.additions++] = {chunks_of(each.problem), each.problem.channels, each.chunks,
                                         each.sums};
      add(static_cast<std::size_t>(each.channels));
    }
    std::ranges::copy(observations_, work.observation);
    for (const NormObservation& each : observations_) add(rows_for(static_cast<std::size_t>(each.channels)));
    if (rows > 0) for_each_row(stream_, rows, work);
  });
  unpaddings_.clear();
  additions_.clear();
  observations_.clear();
}

}  // namespace lockstep::cuda
