#include "hosts/host_wait.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::launcher {
namespace {

constexpr std::chrono::seconds warning_time{10}, end_time{300};

}  // namespace

HostWait::HostWait(const std::vector<std::string>& hosts, Time began)
    : hosts_(fmt::format("{}", fmt::join(hosts, ", "))), began_(began) {}

HostWait::Due HostWait::look(Time now) {
  const auto waited = now - began_;
  if (!hosts_.empty() && looks_for_ == Due::warning && waited >= warning_time) {
    looks_for_ = Due::end;
    return Due::warning;
  }
  if (looks_for_ == Due::end && waited >= end_time) {
    looks_for_ = Due::nothing;
    return Due::end;
  }
  return Due::nothing;
}

std::string HostWait::warning() const {
  return fmt::format(
      "warning: mpirun has waited {} s for other hosts ({}), and no rank has started; the run ends if this "
      "takes {} s",
      warning_time.count(), hosts_, end_time.count());
}

std::string HostWait::failure() const {
  return fmt::format("mpirun could not start ranks on other hosts ({}) within {} s", hosts_,
                     end_time.count());
}

}  // namespace lockstep::launcher
