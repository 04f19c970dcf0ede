#include "optim/cuda/update.h"

#include <algorithm>
#include <cmath>

#include "device/cuda/floats.h"
#include "device/cuda/native/launch.h"

namespace lockstep::cuda {
namespace {

/// Number of elements of one thread. All are in one segment, as arenas are laid out in units of 16.
constexpr std::size_t width = four_floats;
using Elements = Floats<width>;

/// Segment of an element. Searches only the segments of the element's unit; few units have more than one.
LOCKSTEP_HD std::uint32_t segment_of(const UpdateMemory& memory, std::size_t element) {
  const std::uint32_t* const unit = memory.unit_segments + element / segment_unit;
  std::uint32_t first = unit[0], last = unit[1];
  while (first < last) {
    const std::uint32_t middle = (first + last) / 2;
    if (element < memory.segments[middle].end) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

/// Step of `segment`, computed like CpuArenaUpdate::step_of.
LOCKSTEP_HD Optimizer::Step step_of(const UpdateMemory& memory, const Segment& segment) {
  const StepInput& input = memory.log.input();
  Optimizer::Step step;
  step.gradient_scale = memory.log.outcome().gradient_scale;
  step.learning_rate = input.learning_rate;
  step.number = input.number;
  step.weight_decay = segment.weight_decay;
  if (segment.adapts) step.trust_ratio = memory.trust_ratios[segment.parameter];
  return step;
}

/// Coefficients of each segment: read from a table that enqueue() fills or, if that is cheap, computed by
/// each thread.
template <class Rule>
struct Coefficients {
  using Value = typename Rule::Coefficients;
  Rule rule;
  UpdateMemory memory;

  LOCKSTEP_HD void operator()(std::size_t segment) const {
    table()[segment] = rule.coefficients(step_of(memory, memory.segments[segment]));
  }

  LOCKSTEP_HD Value of(std::uint32_t segment) const {
    if constexpr (Rule::cheap_coefficients) {
      return rule.coefficients(step_of(memory, memory.segments[segment]));
    } else {
      return table()[segment];
    }
  }

  LOCKSTEP_HD Value* table() const { return reinterpret_cast<Value*>(memory.coefficients); }

  void enqueue(StreamHandle stream) const {
    if constexpr (!Rule::cheap_coefficients) for_each(stream, memory.segment_count, *this);
  }
};

/// Calls arithmetic(e, states of element e) for each of a thread's elements, from `element` on, with the
/// first `count` states. `count` is an int because nvcc warns about an unsigned k < 0.
template <int count, class Arithmetic>
LOCKSTEP_HD void with_states(const UpdateMemory& memory, std::size_t element, const Arithmetic& arithmetic) {
  constexpr int room = std::max(count, 1);
  Elements values[room];
  for (int k = 0; k < count; ++k) {
    values[k] = load_floats<width>(memory.states[k] + (element - memory.first));
  }
  for (std::size_t e = 0; e < width; ++e) {
    float state[room];
    for (int k = 0; k < count; ++k) state[k] = values[k][e];
    arithmetic(e, state);
    for (int k = 0; k < count; ++k) values[k][e] = state[k];
  }
  for (int k = 0; k < count; ++k) store_floats(memory.states[k] + (element - memory.first), values[k]);
}

template <class Rule>
struct Update {
  Coefficients<Rule> coefficients;
  std::size_t begin;
  const float* sum;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const UpdateMemory& memory = coefficients.memory;
    if (memory.log.outcome().updates == 0) return;
    const std::size_t element = begin + i * width;
    const std::uint32_t segment = segment_of(memory, element);
    const Elements sums = load_floats<width>(sum + i * width);
    Elements values = load_floats<width>(memory.values + element);
    if (memory.segments[segment].kind == Segment::Kind::trained) {
      train(segment, element, sums, values);
    } else if (memory.segments[segment].kind == Segment::Kind::statistic) {
      observe(memory.segments[segment].momentum, sums, values);
    }
    store_floats(memory.values + element, values);
    if (memory.averages != nullptr) average(element, values);
  }

  LOCKSTEP_HD void train(std::uint32_t segment, std::size_t element, const Elements& sums,
                         Elements& values) const {
    const auto common = coefficients.of(segment);
    with_states<int{Rule::update_states}>(coefficients.memory, element, [&](std::size_t e, float* state) {
      Rule::update(common, values[e], sums[e], state);
    });
  }

  LOCKSTEP_HD void observe(double momentum, const Elements& sums, Elements& values) const {
    const float scale = coefficients.memory.log.outcome().statistic_scale;
    const auto keep = static_cast<float>(1.0 - momentum);
    const auto take = static_cast<float>(momentum);
    for (std::size_t e = 0; e < width; ++e) values[e] = keep * values[e] + take * (sums[e] * scale);
  }

  LOCKSTEP_HD void average(std::size_t element, const Elements& values) const {
    const UpdateMemory& memory = coefficients.memory;
    Elements averages = load_floats<width>(memory.averages + element);
    for (std::size_t e = 0; e < width; ++e) averages[e] += memory.average_take * (values[e] - averages[e]);
    store_floats(memory.averages + element, averages);
  }
};

template <class Rule>
struct Prepare {
  Coefficients<Rule> coefficients;
  std::size_t begin;
  float* sum;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const UpdateMemory& memory = coefficients.memory;
    if (memory.log.outcome().updates == 0) return;
    const std::size_t element = begin + i * width;
    const std::uint32_t segment = segment_of(memory, element);
    if (memory.segments[segment].kind != Segment::Kind::trained) return;
    const auto common = coefficients.of(segment);
    const Elements values = load_floats<width>(memory.values + element);
    Elements sums = load_floats<width>(sum + i * width);
    with_states<int{Rule::prepare_states}>(memory, element, [&](std::size_t e, float* state) {
      Rule::prepare(common, values[e], sums[e], state);
    });
    store_floats(sum + i * width, sums);
  }
};

template <class Rule>
struct ChooseTrustRatios {
  Rule rule;
  UpdateMemory memory;
  const double* parameter_squares;
  const double* gradient_squares;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const Segment& segment = memory.segments[i];
    if (!segment.adapts || memory.log.outcome().updates == 0) return;
    memory.trust_ratios[segment.parameter] =
        rule.trust_ratio(sqrt(parameter_squares[segment.parameter]),
                         sqrt(gradient_squares[segment.parameter]), segment.weight_decay);
  }
};

/// Calls `code` if the rule is layer-wise.
template <class Code>
void visit_layerwise(const OptimizerRule& rule, const Code& code) {
  std::visit(
      [&](const auto& one) {
        if constexpr (std::decay_t<decltype(one)>::layerwise) code(one);
      },
      rule.value);
}

}  // namespace

void prepare(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory, std::size_t begin,
             std::size_t count, float* sum) {
  visit_layerwise(rule, [&]<class Rule>(const Rule& one) {
    const Coefficients<Rule> coefficients{one, memory};
    coefficients.enqueue(stream);
    for_each(stream, count / width, Prepare<Rule>{coefficients, begin, sum});
  });
}

void choose_trust_ratios(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory,
                         const double* parameter_squares, const double* gradient_squares) {
  visit_layerwise(rule, [&]<class Rule>(const Rule& one) {
    for_each(stream, memory.segment_count,
             ChooseTrustRatios<Rule>{one, memory, parameter_squares, gradient_squares});
  });
}

void update(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory, std::size_t begin,
            std::size_t count, const float* sum) {
  std::visit(
      [&]<class Rule>(const Rule& one) {
        const Coefficients<Rule> coefficients{one, memory};
        coefficients.enqueue(stream);
        for_each(stream, count / width, Update<Rule>{coefficients, begin, sum});
      },
      rule.value);
}

}  // namespace lockstep::cuda
