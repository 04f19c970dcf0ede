#include "ops/cuda/kernels/cross_entropy.h"

#include <limits>

#include "core/bfloat16.h"
#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/elementwise.h"
#include "ops/float_arithmetic.h"

namespace lockstep::cuda {
namespace {

using Arithmetic = FloatArithmetic;

/// Target of a sample.
struct Target {
  std::int32_t label;
  std::int32_t other;
  float own_share;
  float other_share;
  float every;  ///< share of each class, from label smoothing

  LOCKSTEP_HD float of_class(int c) const {
    return (c == label ? own_share : 0.0F) + (c == other ? other_share : 0.0F) + every;
  }
};

/// Softmax of a sample.
struct Softmax {
  float largest;      ///< largest logit
  float sum;          ///< sum of exp(logit - largest)
  std::int32_t best;  ///< first class with the largest logit
};

/// Sums over the classes.
struct ClassSums {
  float exponentials = 0.0F;  ///< of exp(logit - largest)
  double distances = 0.0;     ///< of largest - logit
  int above = 0;              ///< number of logits larger than the label's, or equal and of a lower class

  LOCKSTEP_HD ClassSums& operator+=(const ClassSums& other) {
    exponentials += other.exponentials;
    distances += other.distances;
    above += other.above;
    return *this;
  }
};

/// A task whose logits and gradients are stored as T.
template <class T>
struct Loss {
  explicit Loss(const CrossEntropyTask& given)
      : task(given), channels(static_cast<std::size_t>(padded_channels(given.classes))) {}

  CrossEntropyTask task;
  std::size_t channels;

  LOCKSTEP_HD float logit(std::size_t sample, int c) const {
    return to_float(static_cast<const T*>(task.logits)[sample * channels + static_cast<std::size_t>(c)]);
  }

  LOCKSTEP_HD Target target(std::size_t sample) const {
    const float kept = 1.0F - task.smoothing;
    Target target{task.labels[sample], -1, kept, 0.0F, task.smoothing / static_cast<float>(task.classes)};
    if (task.partner_labels != nullptr) {
      const float share = task.shares[sample];
      target.other = task.partner_labels[sample];
      target.own_share = kept * share;
      target.other_share = kept * (1.0F - share);
    }
    return target;
  }

  LOCKSTEP_HD ClassSums sums_of_class(std::size_t sample, int c, float largest) const {
    const std::int32_t label = task.labels[sample];
    const float z = logit(sample, c);
    const float own = label < 0 ? 0.0F : logit(sample, label);
    return {exponential<Arithmetic>(z - largest), static_cast<double>(largest) - static_cast<double>(z),
            z > own || (z == own && c < label) ? 1 : 0};
  }

  /// Writes softmax minus target; zero in padding and for missing samples.
  LOCKSTEP_HD void write_gradient(std::size_t sample, int c, const Softmax& softmax,
                                  const Target& target) const {
    float grad = 0.0F;
    if (c < task.classes && target.label >= 0) {
      const float e = exponential<Arithmetic>(logit(sample, c) - softmax.largest);
      grad = e / softmax.sum - target.of_class(c);
    }
    static_cast<T*>(task.gradient)[sample * channels + static_cast<std::size_t>(c)] = from_float<T>(grad);
  }

  /// Sum over the classes of target * (largest logit - logit).
  LOCKSTEP_HD double expected_distance(std::size_t sample, float largest, double distances) const {
    const auto from_largest = [&](int c) {
      return static_cast<double>(largest) - static_cast<double>(logit(sample, c));
    };
    double distance = from_largest(task.labels[sample]);
    if (task.partner_labels != nullptr && task.partner_labels[sample] >= 0) {
      const auto share = static_cast<double>(task.shares[sample]);
      distance = share * distance + (1.0 - share) * from_largest(task.partner_labels[sample]);
    }
    if (task.smoothing > 0.0F) {
      const auto smoothing = static_cast<double>(task.smoothing);
      distance = (1.0 - smoothing) * distance + smoothing * (distances / task.classes);
    }
    return distance;
  }

  LOCKSTEP_HD LeafResult totals_of(std::size_t sample, const Softmax& softmax, const ClassSums& sums) const {
    if (task.labels[sample] < 0) return {};
    const bool hit = softmax.best == task.labels[sample];
    return {logarithm_above_one<Arithmetic>(static_cast<double>(softmax.sum)) +
                expected_distance(sample, softmax.largest, sums.distances),
            hit ? 1U : 0U, hit || sums.above < 5 ? 1U : 0U, 1};
  }

  LOCKSTEP_HD void predict(std::size_t sample, std::int32_t best) const {
    if (task.predictions != nullptr) task.predictions[sample] = best;
  }

  LOCKSTEP_HD void finish(const LeafResult& totals) const { *task.result = totals; }
};

/// For few classes: computes each sample in a single thread. Sums over the classes in the CPU's order, with
/// the same bits. One row, whose terms are the samples.
template <class T>
struct WholeSamples {
  using Sum = LeafResult;
  Loss<T> loss;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const {
    return static_cast<std::size_t>(loss.task.samples);
  }
  LOCKSTEP_HD LeafResult term(std::size_t /*row*/, std::size_t sample) const {
    Softmax softmax{loss.logit(sample, 0), 0.0F, 0};
    for (int c = 1; c < loss.task.classes; ++c) {
      const float z = loss.logit(sample, c);
      if (z > softmax.largest) softmax = {z, 0.0F, c};
    }
    ClassSums sums;
    for (int c = 0; c < loss.task.classes; ++c) sums += loss.sums_of_class(sample, c, softmax.largest);
    softmax.sum = sums.exponentials;
    if (loss.task.gradient != nullptr) {
      const Target target = loss.target(sample);
      const auto channels = static_cast<int>(loss.channels);
      for (int c = 0; c < channels; ++c) loss.write_gradient(sample, c, softmax, target);
    }
    loss.predict(sample, softmax.best);
    return loss.totals_of(sample, softmax, sums);
  }
  LOCKSTEP_HD void finish(std::size_t /*row*/, const LeafResult& totals) const { loss.finish(totals); }
};

// Kernels for many classes: a row of threads per sample.

/// Largest logit so far; among equal logits, the logit of the lowest class.
struct Largest {
  float value = -std::numeric_limits<float>::infinity();
  std::int32_t place = std::numeric_limits<std::int32_t>::max();

  LOCKSTEP_HD Largest& operator+=(const Largest& other) {
    if (other.value > value || (other.value == value && other.place < place)) *this = other;
    return *this;
  }
};

/// Finds the largest logit of each sample. NaN is never the largest except in class 0, as on the CPU.
template <class T>
struct FindLargest {
  using Sum = Largest;
  Loss<T> loss;
  Softmax* softmax;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const {
    return static_cast<std::size_t>(loss.task.classes);
  }
  LOCKSTEP_HD Largest term(std::size_t sample, std::size_t c) const {
    return {loss.logit(sample, static_cast<int>(c)), static_cast<std::int32_t>(c)};
  }
  LOCKSTEP_HD void finish(std::size_t sample, const Largest& largest) const {
    const float first = loss.logit(sample, 0);
    softmax[sample] = first != first ? Softmax{first, 0.0F, 0} : Softmax{largest.value, 0.0F, largest.place};
    loss.predict(sample, softmax[sample].best);
  }
};

template <class T>
struct SumClasses {
  using Sum = ClassSums;
  Loss<T> loss;
  Softmax* softmax;
  LeafResult* totals;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const {
    return static_cast<std::size_t>(loss.task.classes);
  }
  LOCKSTEP_HD ClassSums term(std::size_t sample, std::size_t c) const {
    return loss.sums_of_class(sample, static_cast<int>(c), softmax[sample].largest);
  }
  LOCKSTEP_HD void finish(std::size_t sample, const ClassSums& sums) const {
    softmax[sample].sum = sums.exponentials;
    totals[sample] = loss.totals_of(sample, softmax[sample], sums);
  }
};

template <class T>
struct WriteGradients {
  Loss<T> loss;
  const Softmax* softmax;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const std::size_t sample = index / loss.channels;
    loss.write_gradient(sample, static_cast<int>(index % loss.channels), softmax[sample],
                        loss.target(sample));
  }
};

template <class T>
struct SumSamples {
  using Sum = LeafResult;
  Loss<T> loss;
  const LeafResult* totals;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const {
    return static_cast<std::size_t>(loss.task.samples);
  }
  LOCKSTEP_HD LeafResult term(std::size_t /*row*/, std::size_t sample) const { return totals[sample]; }
  LOCKSTEP_HD void finish(std::size_t /*row*/, const LeafResult& sum) const { loss.finish(sum); }
};

/// Maximum number of classes for which one thread computes a whole sample.
constexpr int max_classes_of_thread = 32;

template <class T>
void run(StreamHandle stream, const CrossEntropyTask& task) {
  const Loss<T> loss(task);
  if (task.classes <= max_classes_of_thread) {
    for_each_row(stream, 1, WholeSamples<T>{loss});
    return;
  }
  const auto samples = static_cast<std::size_t>(task.samples);
  auto* totals = reinterpret_cast<LeafResult*>(task.scratch);
  auto* softmax = reinterpret_cast<Softmax*>(totals + samples);
  for_each_row(stream, samples, FindLargest<T>{loss, softmax});
  for_each_row(stream, samples, SumClasses<T>{loss, softmax, totals});
  if (task.gradient != nullptr) for_each(stream, samples * loss.channels, WriteGradients<T>{loss, softmax});
  for_each_row(stream, 1, SumSamples<T>{loss, totals});
}

}  // namespace

std::size_t cross_entropy_scratch(int samples, int classes) {
  return classes <= max_classes_of_thread
             ? 0
             : static_cast<std::size_t>(samples) * (sizeof(LeafResult) + sizeof(Softmax));
}

void cross_entropy(StreamHandle stream, const CrossEntropyTask& task) {
  with_stored(task.type, [&]<class T>(T /*stored*/) { run<T>(stream, task); });
}

}  // namespace lockstep::cuda
