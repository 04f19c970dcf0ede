#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// Name of an entry of a folder of checkpoints.
struct CheckpointName {
  enum class Kind {
    whole,      ///< "step-00001234"
    replaced,   ///< "step-00001234.XXXXXXXX.old": gives its place to one of the same step
    aside,      ///< "step-00001234.XXXXXXXX.aside": of a run that has gone on from an earlier one
    temporary,  ///< ".step-00001234.XXXXXXXX.tmp": being written
  };
  Kind kind = Kind::whole;
  std::uint64_t step = 0;
};

/// None: not a name of this kind.
std::optional<CheckpointName> parse_checkpoint_name(std::string_view name);

/// Name of the folder of a checkpoint: "step-00001234".
std::string checkpoint_name(std::uint64_t step);

}  // namespace lockstep
