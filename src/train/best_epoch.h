#pragma once

#include "lockstep/reports.h"

namespace lockstep {

/// Which epoch was the best so far, and whether it is too long ago.
class BestEpochTracker {
 public:
  /// `patience`: epochs to wait for a better one; 0: for ever.
  explicit BestEpochTracker(int patience) : patience_(patience) {}

  /// Whether `epoch` is better than all before it.
  bool add(int epoch, double accuracy) {
    last_ = epoch;
    if (best_.epoch != 0 && accuracy <= best_.accuracy) return false;
    best_ = {epoch, accuracy};
    return true;
  }
  const BestEpoch& best() const { return best_; }
  bool exhausted() const { return patience_ > 0 && last_ - best_.epoch >= patience_; }

 private:
  int patience_;
  int last_ = 0;
  BestEpoch best_;
};

}  // namespace lockstep
