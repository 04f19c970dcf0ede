#include "comm/world/check_same.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/world/gather.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Returns rank 0's lines on every rank. Collective.
std::vector<Line> broadcast(const World& world, const std::vector<Line>& own) {
  std::vector<std::string> texts;  // names and values in turn
  for (const auto& [name, value] : own) texts.insert(texts.end(), {name, value});
  texts = broadcast(world, texts);
  texts.resize(texts.size() + texts.size() % 2);
  std::vector<Line> lines;
  for (std::size_t i = 0; i < texts.size(); i += 2) lines.push_back({texts[i], texts[i + 1]});
  return lines;
}

/// Value of the line called `name`; "nothing" if no line has that name.
std::string value_of(const std::vector<Line>& lines, const std::string& name) {
  const auto found = std::ranges::find(lines, name, &Line::name);
  return found == lines.end() ? "nothing" : found->value;
}

/// Name of the first line that has different values in `mine` and `theirs`, else of a line that only one of
/// them has; empty if all lines are equal.
std::string first_difference(const std::vector<Line>& mine, const std::vector<Line>& theirs) {
  std::string single;
  for (const auto& [lines, others] : {std::pair(&mine, &theirs), std::pair(&theirs, &mine)}) {
    for (const Line& line : *lines) {
      const auto other = std::ranges::find(*others, line.name, &Line::name);
      if (other != others->end() && other->value != line.value) return line.name;
      if (other == others->end() && single.empty()) single = line.name;
    }
  }
  return single;
}

}  // namespace

void check_same(const World& world, const std::vector<Line>& lines) {
  std::vector<Line> own = {{"version", version()}, {"revision", revision()}};
  own.insert(own.end(), lines.begin(), lines.end());
  const std::vector<Line> first = broadcast(world, own);
  world.agree([&] {
    const std::string name = first_difference(own, first);
    if (name.empty()) return;
    const std::string mine = value_of(own, name), theirs = value_of(first, name);
    const bool presence = mine == option_given || theirs == option_given;
    throw Error(Category::usage,
                presence ? fmt::format("is {} on rank {}, but {} on rank 0; give all ranks the same", mine,
                                       world.rank(), theirs)
                         : fmt::format("rank {} has {} = {}, rank 0 has {}; give all ranks the same",
                                       world.rank(), name, printable(mine), printable(theirs)),
                name);
  });
}

}  // namespace lockstep
