#include "optim/segments.h"

#include <fmt/format.h>

#include <string_view>

#include "core/text/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Whether `text` matches the glob `pattern`. Backtracking to the last * is sufficient.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

/// The parameter's name, and the prefix of the name before each dot.
std::vector<std::string> names_of(const Parameter& parameter) {
  std::vector<std::string> names{parameter.name};
  for (std::size_t dot = parameter.name.find('.'); dot != std::string::npos;
       dot = parameter.name.find('.', dot + 1)) {
    names.push_back(parameter.name.substr(0, dot));
  }
  return names;
}

[[noreturn]] void refuse_pattern(const std::string& pattern, const std::vector<Parameter>& parameters) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) {
    for (std::string& name : names_of(parameter)) known.push_back(std::move(name));
  }
  const std::string best = nearest(pattern, known);
  throw Error(Category::usage,
              fmt::format("no parameter matches '{}', which should be frozen{}", pattern,
                          best.empty() ? fmt::format("; there is, for example, {}", parameters.front().name)
                                       : fmt::format("; did you mean '{}'?", best)));
}

bool can_merge(const Segment& left, const Segment& right) {
  return left.kind == right.kind && left.weight_decay == right.weight_decay && !left.adapts &&
         !right.adapts && left.momentum == right.momentum;
}

}  // namespace

std::vector<bool> frozen_parameters(const std::vector<Parameter>& parameters,
                                    const std::vector<std::string>& patterns) {
  std::vector<bool> frozen(parameters.size(), false);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::vector<std::string> names = names_of(parameters[i]);
      if (std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); })) {
        frozen[i] = any = true;
      }
    }
    if (!any) refuse_pattern(pattern, parameters);
  }
  return frozen;
}

std::vector<Segment> make_segments(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                                   const OptimizerOptions& options, bool layerwise) {
  const std::vector<bool> frozen = frozen_parameters(parameters, options.freeze);
  std::vector<Segment> segments;
  bool trains = false;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool vector = parameters[i].shape.size() <= 1;
    Segment segment{.begin = layout.offsets[i], .end = layout.end_of(i), .parameter = i};
    if (frozen[i]) {
      segment.kind = Segment::Kind::frozen;
    } else if (!parameters[i].trained()) {
      segment.kind = Segment::Kind::statistic;
      segment.momentum = parameters[i].statistic_momentum;
    } else {
      segment.weight_decay = !(vector && options.filter_bias_and_bn);
      segment.adapts = layerwise && (!vector || options.always_adapt);
      trains = true;
    }
    if (!segments.empty() && can_merge(segments.back(), segment)) {
      segments.back().end = segment.end;
      ++segments.back().parameters;
    } else {
      segments.push_back(segment);
    }
  }
  if (!trains && !parameters.empty())
    throw Error(Category::usage, "every parameter is frozen: nothing is left to train");
  return segments;
}

}  // namespace lockstep
