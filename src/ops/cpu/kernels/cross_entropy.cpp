#include "ops/cpu/kernels/cross_entropy.h"
#include "ops/cpu/kernels/vector_arithmetic.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Softmax of 16 images.
struct Summary {
  alignas(64) float largest[lanes];
  alignas(64) float sum[lanes];  ///< sum of exp(logit - largest)
  alignas(64) std::int32_t best[lanes];
};

/// Computes the softmax of a part of 16 images. Stores exp(logit - largest) in `grad` unless it is null.
void summarize(const float* logits, int classes, int part, float* grad, Summary& summary) {
  const hn::RebindToSigned<Floats> integers;
  Vector largest = hn::Load(floats, logits + part);
  auto best = hn::Zero(integers);
  for (int c = 1; c < classes; ++c) {
    const Vector z = hn::Load(floats, logits + pixels(c) + part);
    const Mask above = hn::Gt(z, largest);
    largest = hn::IfThenElse(above, z, largest);
    best = hn::IfThenElse(hn::RebindMask(integers, above), hn::Set(integers, c), best);
  }
  Vector sum = hn::Zero(floats);
  for (int c = 0; c < classes; ++c) {
    const Vector z = hn::Load(floats, logits + pixels(c) + part);
    const Vector e = exponential<VectorArithmetic>(hn::Sub(z, largest));
    sum = hn::Add(sum, e);
    if (grad != nullptr) {
      hn::Store(e, floats, grad + pixels(c) + part);
    }
  }
  hn::Store(largest, floats, summary.largest + part);
  hn::Store(sum, floats, summary.sum + part);
  hn::Store(best, integers, summary.best + part);
}

/// Targets of a part of 16 images.
struct Targets {
  hn::Vec<hn::RebindToSigned<Floats>> label;
  hn::Vec<hn::RebindToSigned<Floats>> other;
  Vector own_share;
  Vector other_share;
  Vector every;  ///< share that label smoothing gives to each class

  HWY_INLINE Vector of_class(int c) const {
    const hn::RebindToSigned<Floats> integers;
    const auto here = hn::Set(integers, c);
    const Vector own = hn::IfThenElseZero(hn::RebindMask(floats, hn::Eq(label, here)), own_share);
    const Vector second = hn::IfThenElseZero(hn::RebindMask(floats, hn::Eq(other, here)), other_share);
    return hn::Add(hn::Add(own, second), every);
  }
};

Targets targets_of(const CrossEntropyTask& task, int group, int part) {
  const hn::RebindToSigned<Floats> integers;
  const std::size_t at = pixels(group) + static_cast<std::size_t>(part);
  const Vector kept = hn::Set(floats, 1.0F - task.smoothing);
  Targets targets{.label = hn::LoadU(integers, task.labels + at),
                  .other = hn::Set(integers, -1),
                  .own_share = kept,
                  .other_share = hn::Zero(floats),
                  .every = hn::Set(floats, task.smoothing / static_cast<float>(task.classes))};
  if (task.partner_labels != nullptr) {
    const Vector share = hn::LoadU(floats, task.shares + at);
    targets.other = hn::LoadU(integers, task.partner_labels + at);
    targets.own_share = hn::Mul(kept, share);
    targets.other_share = hn::Mul(kept, hn::Sub(hn::Set(floats, 1.0F), share));
  }
  return targets;
}

/// Computes softmax minus target; zero for missing samples.
void finish_gradient(const Targets& targets, int classes, int part, const Summary& summary, float* grad) {
  const hn::RebindToSigned<Floats> integers;
  const Mask missing = hn::RebindMask(floats, hn::Lt(targets.label, hn::Zero(integers)));
  const Vector sum = hn::Load(floats, summary.sum + part);
  for (int c = 0; c < classes; ++c) {
    float* value = grad + pixels(c) + part;
    const Vector difference = hn::Sub(hn::Div(hn::Load(floats, value), sum), targets.of_class(c));
    hn::Store(hn::IfThenZeroElse(missing, difference), floats, value);
  }
}

/// One sample's logits and labels.
struct Sample {
  const float* logits;  ///< stride of 16 floats between classes
  float largest;
  std::int32_t label;
  std::int32_t other;
  double share;

  double distance(int c) const {
    return static_cast<double>(largest) - static_cast<double>(logits[pixels(c)]);
  }
};

/// Sum over the classes of target * (largest logit - logit).
double expected_distance(const CrossEntropyTask& task, const Sample& sample) {
  double distance = sample.distance(sample.label);
  if (sample.other >= 0) {
    distance = sample.share * distance + (1.0 - sample.share) * sample.distance(sample.other);
  }
  if (task.smoothing > 0.0F) {
    double sum = 0.0;
    for (int c = 0; c < task.classes; ++c) {
      sum += sample.distance(c);
    }
    const auto smoothing = static_cast<double>(task.smoothing);
    distance = (1.0 - smoothing) * distance + smoothing * (sum / task.classes);
  }
  return distance;
}

/// Number of logits that are larger than the label's, or equal to it and of a lower class.
int rank_of_label(const CrossEntropyTask& task, const Sample& sample) {
  const float own = sample.logits[pixels(sample.label)];
  int above = 0;
  for (int c = 0; c < task.classes; ++c) {
    const float z = sample.logits[pixels(c)];
    above += z > own || (z == own && c < sample.label) ? 1 : 0;
  }
  return above;
}

void add_sample(CrossEntropyTask& task, int group, int lane, const Summary& summary) {
  const std::size_t at = pixels(group) + static_cast<std::size_t>(lane);
  const bool mixed = task.partner_labels != nullptr;
  const Sample sample{.logits = task.logits + pixels(task.classes) * group + lane,
                      .largest = summary.largest[lane],
                      .label = task.labels[at],
                      .other = mixed ? task.partner_labels[at] : -1,
                      .share = mixed ? static_cast<double>(task.shares[at]) : 1.0};
  task.loss += logarithm_above_one<VectorArithmetic>(static_cast<double>(summary.sum[lane])) +
               expected_distance(task, sample);
  const bool hit = summary.best[lane] == sample.label;
  task.correct += hit ? 1 : 0;
  task.correct5 += hit || rank_of_label(task, sample) < 5 ? 1 : 0;
}

}  // namespace

void cross_entropy(CrossEntropyTask& task) {
  task.loss = 0.0;
  task.correct = 0;
  task.correct5 = 0;
  const std::size_t group_floats = pixels(task.classes);
  for (int g = 0; g < task.groups; ++g) {
    float* grad = task.grad == nullptr ? nullptr : task.grad + group_floats * g;
    Summary summary;
    for (int part = 0; part < lanes; part += width) {
      summarize(task.logits + group_floats * g, task.classes, part, grad, summary);
      if (grad != nullptr) {
        finish_gradient(targets_of(task, g, part), task.classes, part, summary, grad);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      if (task.labels[pixels(g) + static_cast<std::size_t>(lane)] >= 0) {
        add_sample(task, g, lane, summary);
      }
      if (task.predictions != nullptr) {
        task.predictions[pixels(g) + static_cast<std::size_t>(lane)] = summary.best[lane];
      }
    }
  }
}

const CrossEntropyKernels cross_entropy_kernels{.run = cross_entropy};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
