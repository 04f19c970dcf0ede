#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Finds hosts to which messages take long, from the times that they take there and back. A link is found
/// when more than 50 ms, and four times the shortest time, were needed five times in a row, over at least 3
/// s: after an interruption, messages arrive together. It is found at most three times, and again only after
/// it has been faster for as long.
class SlowLinks {
 public:
  struct Finding {
    double seconds = 0.0;  ///< average of these messages
    double least = 0.0;    ///< shortest time so far
  };

  explicit SlowLinks(std::size_t hosts = 0) : links_(hosts) {}

  /// Takes the seconds of a message to `host` and back; `now`: the time of its arrival, in seconds. Returns
  /// whether its link is found now.
  std::optional<Finding> add(std::size_t host, double now, double seconds);

 private:
  struct Link {
    double least = 1e9;
    double began = 0.0;  ///< arrival of the first of the latest messages that are all slow or all fast
    double sum = 0.0;    ///< of these messages
    int messages = 0;
    bool slow = false;
    bool found = false;
    int times = 0;
  };
  std::vector<Link> links_;
};

/// Warning about the link between these hosts.
std::string message_of(const SlowLinks::Finding& finding, const std::string& first, const std::string& other);

}  // namespace lockstep
