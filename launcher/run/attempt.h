#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::launcher {

/// Rank, and the host on which it ran; negative: the host itself.
struct Place {
  int rank = -1;
  std::string host;

  bool operator==(const Place&) const = default;
};

/// A start of mpirun and how it ended. Times are in seconds on one clock; steps count from the
/// beginning of the run.
struct Attempt {
  int ranks = 0;  ///< 0: as many as mpirun chose
  double began = 0;
  double ended = 0;
  std::optional<double> first_step = {};  ///< time when its first step was recorded
  std::uint64_t from_step = 0;   ///< step of the checkpoint from which it went on; 0: from the beginning
  std::uint64_t last_step = 0;   ///< last step that was recorded
  std::uint64_t checkpoint = 0;  ///< step of the newest checkpoint at its end; 0: none
  int status = 0;                ///< exit status, or 128 + signal
  bool stop_requested = false;
  std::optional<Place> place = {};  ///< the rank that failed
  std::string cause = {};           ///< what it said; may be empty
};

}  // namespace lockstep::launcher
