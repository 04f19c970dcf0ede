#include "ops/cpu/kernels/exponential.h"
#include "ops/cpu/kernels/kernels.h"
#include "ops/cpu/kernels/tables.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// log(x) for finite x >= 1: x = 2^e m with m in [2/3, 4/3), log m = 2 atanh((m - 1) / (m + 1)).
double logarithm(double x) {
  if (!(x >= 1.0)) {
    return x;  // NaN
  }
  std::uint64_t bits = 0;
  hwy::CopyBytes<8>(&x, &bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
  double m = 0.0;
  hwy::CopyBytes<8>(&bits, &m);
  if (m >= 4.0 / 3.0) {
    m *= 0.5;
    ++exponent;
  }
  const double t = (m - 1.0) / (m + 1.0);
  const double square = t * t;
  double series = 0.0;
  for (int i = 25; i >= 1; i -= 2) {
    series = series * square + 1.0 / i;
  }
  return exponent * 0.6931471805599453 + 2.0 * t * series;
}

/// What the loss needs of 16 images.
struct Summary {
  alignas(64) float largest[lanes];
  alignas(64) float sum[lanes];  ///< of exp(logit - largest)
  alignas(64) std::int32_t best[lanes];
};

/// Where `grad` is not null, leaves exp(logit - largest) there.
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
    const Vector e = exponential(hn::Sub(hn::Load(floats, logits + pixels(c) + part), largest));
    sum = hn::Add(sum, e);
    if (grad != nullptr) {
      hn::Store(e, floats, grad + pixels(c) + part);
    }
  }
  hn::Store(largest, floats, summary.largest + part);
  hn::Store(sum, floats, summary.sum + part);
  hn::Store(best, integers, summary.best + part);
}

/// Softmax minus one at the label; zero in lanes without a sample.
void finish_gradient(const std::int32_t* labels, int classes, int part, const Summary& summary, float* grad) {
  const hn::RebindToSigned<Floats> integers;
  const auto label = hn::LoadU(integers, labels + part);
  const Mask missing = hn::RebindMask(floats, hn::Lt(label, hn::Zero(integers)));
  const Vector sum = hn::Load(floats, summary.sum + part);
  for (int c = 0; c < classes; ++c) {
    const Mask hit = hn::RebindMask(floats, hn::Eq(label, hn::Set(integers, c)));
    const Vector one = hn::IfThenElseZero(hit, hn::Set(floats, 1.0F));
    float* target = grad + pixels(c) + part;
    const Vector difference = hn::Sub(hn::Div(hn::Load(floats, target), sum), one);
    hn::Store(hn::IfThenZeroElse(missing, difference), floats, target);
  }
}

}  // namespace

void cross_entropy(CrossEntropyTask& task) {
  task.loss = 0.0;
  task.correct = 0;
  const std::size_t group_floats = pixels(task.classes);
  for (int g = 0; g < task.groups; ++g) {
    const float* logits = task.logits + group_floats * g;
    float* grad = task.grad == nullptr ? nullptr : task.grad + group_floats * g;
    const std::int32_t* labels = task.labels + pixels(g);
    Summary summary;
    for (int part = 0; part < lanes; part += width) {
      summarize(logits, task.classes, part, grad, summary);
      if (grad != nullptr) {
        finish_gradient(labels, task.classes, part, summary, grad);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      if (labels[lane] >= 0) {
        const double distance = static_cast<double>(summary.largest[lane]) -
                                static_cast<double>(logits[pixels(labels[lane]) + lane]);
        task.loss += logarithm(static_cast<double>(summary.sum[lane])) + distance;
        task.correct += summary.best[lane] == labels[lane] ? 1 : 0;
      }
    }
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
