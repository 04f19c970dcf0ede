#include "supervisor/failure_line.h"

#include <regex>

namespace lockstep::launcher {
namespace {

int to_number(const std::ssub_match& text) { return std::stoi(text.str()); }

}  // namespace

std::optional<LauncherReport::Failure> read_failure_line(std::string_view line) {
  static const std::regex signal(
      R"(^\S+ noticed that process rank (\d{1,8}) with PID \d+ on node (\S+) exited on signal (\d+)( \([^)]*\))?)");
  static const std::regex host(
      R"(^ +Remote daemon: \S+ on node (\S+)|^ssh: (?:connect to host|Could not resolve hostname) ([^\s:]+))");
  const std::string text(line);
  std::smatch match;
  if (std::regex_search(text, match, signal)) {
    const std::string kind =
        "rank " + match[1].str() + " on host " + match[2].str() + " was killed by signal " + match[3].str();
    return LauncherReport::Failure{
        .rank = to_number(match[1]), .host = match[2], .cause = kind + match[4].str(), .kind = kind};
  }
  if (std::regex_search(text, match, host)) {
    const std::string name = match[1].matched ? match[1] : match[2];
    return LauncherReport::Failure{.rank = -1, .host = name, .cause = "host " + name + " does not answer"};
  }
  return std::nullopt;
}

}  // namespace lockstep::launcher
