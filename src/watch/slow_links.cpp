#include "watch/slow_links.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr double long_time = 0.05;  // s
constexpr double many_times = 4.0;
constexpr int enough_messages = 5;
constexpr double enough_seconds = 3.0;
constexpr int max_findings = 3;

}  // namespace

std::optional<SlowLinks::Finding> SlowLinks::add(std::size_t host, double now, double seconds) {
  Link& link = links_.at(host);
  link.least = std::min(link.least, seconds);
  const bool slow = seconds > long_time && seconds > many_times * link.least;
  if (slow != link.slow || link.messages == 0) {
    link.slow = slow;
    link.began = now;
    link.sum = 0.0;
    link.messages = 0;
  }
  link.sum += seconds;
  ++link.messages;
  if (link.messages < enough_messages || now < link.began + enough_seconds) return std::nullopt;
  if (link.found == slow) return std::nullopt;
  link.found = slow;
  if (!slow || link.times == max_findings) return std::nullopt;
  ++link.times;
  return Finding{.seconds = link.sum / link.messages, .least = link.least};
}

std::string message_of(const SlowLinks::Finding& finding, const std::string& first,
                       const std::string& other) {
  return fmt::format(
      "a message between hosts {} and {} takes {:.3g} ms there and back, at best {:.3g} ms: their link is "
      "slow "
      "or full, and all ranks wait for it; look at its speed (ethtool), and for others who use it",
      first, other, 1e3 * finding.seconds, 1e3 * finding.least);
}

}  // namespace lockstep
