#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "comm/exchange.h"

namespace lockstep {

/// Chunks whose inputs have fixed addresses, given out one by one, again and again.
class SumChunks {
 public:
  /// Cuts [begin, end) into chunks of at most `longest` elements of the arenas `partials`.
  SumChunks(std::size_t begin, std::size_t end, const std::vector<const float*>& partials,
            std::size_t longest) {
    for (; begin < end; begin += longest) {
      std::vector<const float*>& inputs = inputs_.emplace_back();
      for (const float* partial : partials) inputs.push_back(partial + begin);
      chunks_.push_back({begin, std::min(end, begin + longest), inputs});
    }
  }
  /// The next chunk; nothing after the last, then the first again.
  std::optional<SumChunk> next() {
    if (next_ < chunks_.size()) return chunks_[next_++];
    next_ = 0;
    return std::nullopt;
  }
  bool at_first() const { return next_ == 0; }

 private:
  std::vector<std::vector<const float*>> inputs_;
  std::vector<SumChunk> chunks_;
  std::size_t next_ = 0;
};

}  // namespace lockstep
