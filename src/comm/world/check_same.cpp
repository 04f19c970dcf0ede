#include "comm/world/check_same.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm/world/gather.h"
#include "core/printable.h"
#include "core/version.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Names and values, each terminated by a zero.
std::string pack(const std::vector<Line>& lines) {
  std::string text;
  for (const auto& [name, value] : lines) {
    text.append(name).push_back('\0');
    text.append(value).push_back('\0');
  }
  return text;
}

std::vector<Line> unpack(std::string_view text) {
  const auto next = [&text] {
    const std::size_t end = text.find('\0');
    std::string part(text.substr(0, end));
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
    return part;
  };
  std::vector<Line> lines;
  while (!text.empty()) {
    std::string name = next();
    lines.push_back({std::move(name), text.empty() ? std::string() : next()});
  }
  return lines;
}

/// The value of the line called `name`; "nothing" if there is no such line.
std::string value_of(const std::vector<Line>& lines, const std::string& name) {
  const auto found = std::ranges::find(lines, name, &Line::name);
  return found == lines.end() ? "nothing" : found->value;
}

/// Name of the first line that both have with different values, else of a line that only one of them has;
/// empty: all are equal.
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
  const std::vector<Line> first = unpack(broadcast(world, pack(own)));
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
