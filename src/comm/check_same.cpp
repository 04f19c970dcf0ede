#include "comm/check_same.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "core/printable.h"
#include "core/version.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Names and values, each with a zero behind it.
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
    const std::string part(text.substr(0, end));
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

}  // namespace

void check_same(const World& world, const std::vector<Line>& lines) {
  std::vector<Line> own = {{"version", version()}, {"revision", revision()}};
  own.insert(own.end(), lines.begin(), lines.end());
  const std::string packed = pack(own);
  const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(packed)));
  const std::vector<Line> first = unpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  world.agree([&] {
    const auto [mine, theirs] = std::ranges::mismatch(own, first);
    if (mine == own.end() && theirs == first.end()) return;
    const Line mine_or_none = mine == own.end() ? Line{theirs->name, "nothing"} : *mine;
    const std::string theirs_or_none = theirs == first.end() ? "nothing" : theirs->value;
    throw Error(Category::usage,
                fmt::format("rank {} has {} = {}, rank 0 has {}; give all ranks the same", world.rank(),
                            mine_or_none.name, printable(mine_or_none.value), printable(theirs_or_none)),
                mine_or_none.name);
  });
}

}  // namespace lockstep
