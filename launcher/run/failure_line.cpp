#include "run/failure_line.h"

#include <algorithm>
#include <regex>

namespace lockstep::launcher {
namespace {

constexpr std::size_t longest_cause = 300;

int to_number(const std::ssub_match& text) { return std::stoi(text.str()); }

/// Text of an error without the advice at its end, which the launcher follows itself.
std::string without_advice(const std::string& text) {
  return text.substr(0, std::min(longest_cause, text.find("; resume with: ")));
}

}  // namespace

std::optional<FailureLine> read_failure_line(std::string_view line) {
  static const std::regex error(R"(lockstep: error: (rank (\d{1,8}) on (?:host )?([^\s:]+)(:? .*)))");
  static const std::regex silent_host(R"(lockstep: error: (nothing was heard of host (\S+) .*))");
  static const std::regex other_rank(R"(^: rank (\d{1,8})(?: on (?:host )?([^\s:]+))?\b)");
  static const std::regex signal(
      R"(process rank (\d{1,8}) with PID \d+ on node (\S+) exited on signal (\d+ ?(?:\([^)]*\))?))");
  static const std::regex host(
      R"(^ +Remote daemon: \S+ on node (\S+)|^ssh: (?:connect to host|Could not resolve hostname) ([^\s:]+))");
  const std::string text(line);
  std::smatch match;
  if (std::regex_search(text, match, error)) {
    FailureLine result{{to_number(match[2]), match[3]}, without_advice(match[1])};
    const std::string message = match[4];
    if (std::smatch other; std::regex_search(message, other, other_rank)) {
      result.place.rank = to_number(other[1]);
      if (other[2].matched) result.place.host = other[2];
    }
    return result;
  }
  if (std::regex_search(text, match, silent_host)) {
    return FailureLine{{-1, match[2]}, without_advice(match[1])};
  }
  if (std::regex_search(text, match, signal)) {
    const std::string place = "rank " + match[1].str() + " on host " + match[2].str();
    return FailureLine{{to_number(match[1]), match[2]}, place + " was killed by signal " + match[3].str()};
  }
  if (std::regex_search(text, match, host)) {
    const std::string name = match[1].matched ? match[1] : match[2];
    return FailureLine{{-1, name}, "host " + name + " does not answer"};
  }
  return std::nullopt;
}

bool explains(const FailureLine& later, const FailureLine& first) {
  return later.place.rank == first.place.rank &&
         first.cause.find("has ended without telling why") != std::string::npos;
}

std::string kind_of(const std::string& cause) {
  static const std::regex details(R"( ?\([^()]*\)| for \d+ s\b|;.*)");
  static const std::regex collective(R"(\b((?:before|in|entered) [a-z_]+) \d+)");
  return std::regex_replace(std::regex_replace(cause, details, ""), collective, "$1");
}

}  // namespace lockstep::launcher
