#include "run/report/run_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "run/facts.h"

namespace lockstep {
namespace {

/// Number in the fact `name`; 0 if there is no such fact.
double number_in_fact(const Facts& facts, const std::string& name) {
  const std::string* const text = find_fact(facts, name);
  return text == nullptr ? 0.0 : std::strtod(text->c_str(), nullptr);
}

/// Number of steps in a whole epoch; 0: unknown. Records of earlier versions lack this number: it is then
/// derived from the last recorded step of completed epochs, which is exact if every step was recorded.
double steps_per_epoch(const RunRecord& record) {
  double result = number_in_fact(record.environment, "steps_per_epoch");
  if (result > 0.0) return result;
  for (const StepReport& step : record.steps) {
    const bool completed = !record.epochs.empty() && step.epoch <= record.epochs.back().epoch;
    if (completed) result = std::max(result, static_cast<double>(step.step) / step.epoch);
  }
  return result;
}

}  // namespace

RunAxis::RunAxis(const RunRecord& record)
    : per_epoch_(steps_per_epoch(record)),
      max_steps_(number_in_fact(record.options, "max-steps")),
      counts_steps_(per_epoch_ == 0.0 && record.epochs.empty()) {}

double RunAxis::position(const StepReport& step) const {
  const auto number = static_cast<double>(step.step);
  if (counts_steps_) return number;
  return per_epoch_ > 0.0 ? number / per_epoch_ : NAN;
}

double RunAxis::end_of_epoch(double epoch) const {
  const bool limited = per_epoch_ > 0.0 && max_steps_ > 0.0;
  return limited ? std::min(epoch, max_steps_ / per_epoch_) : epoch;
}

}  // namespace lockstep
