#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Finds slow links to hosts from the round-trip times of messages. A link counts as slow after five
/// consecutive round trips, over at least 3 s, that took more than 50 ms and more than four times the
/// shortest time; fewer seconds are not enough, because after an interruption messages arrive together. A
/// link is reported at most three times, and again only after it has been fast for as long.
class SlowLinks {
 public:
  struct Finding {
    double seconds = 0.0;  ///< average round-trip time of the slow messages
    double least = 0.0;    ///< shortest round-trip time so far
  };

  explicit SlowLinks(std::size_t hosts = 0) : links_(hosts) {}

  /// Adds the round-trip time of a message to `host`, in seconds; `now`: time at which it came back, in
  /// seconds. Returns a finding if the link has now turned out to be slow.
  std::optional<Finding> add(std::size_t host, double now, double seconds);

 private:
  struct Link {
    double least = 1e9;
    double began = 0.0;  ///< arrival of the first message of the current sequence, all slow or all fast
    double sum = 0.0;    ///< total round-trip time of the sequence
    int messages = 0;    ///< number of messages of the sequence
    bool slow = false;   ///< whether the sequence is slow
    bool found = false;  ///< whether the link counts as slow
    int times = 0;       ///< number of times that it was reported
  };
  std::vector<Link> links_;
};

/// Warning about the link between hosts `first` and `other`.
std::string message_of(const SlowLinks::Finding& finding, const std::string& first, const std::string& other);

}  // namespace lockstep
