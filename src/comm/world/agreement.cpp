#include "comm/world/agreement.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/text/message.h"

namespace lockstep {
namespace {

/// Encodes the outcome of a rank as one number; the smallest number decides. A rank's own error precedes
/// errors that repeat another rank's; among equals, the lower rank precedes.
std::int64_t encode(bool repeated, int rank, int status) {
  return (std::int64_t{repeated} << 40) | (std::int64_t{rank} << 8) | status;
}
constexpr std::int64_t no_failure = std::numeric_limits<std::int64_t>::max();
int rank_of(std::int64_t code) { return static_cast<int>((code >> 8) & 0xffffffff); }
Category category_of(std::int64_t code) { return static_cast<Category>(code & 0xff); }

}  // namespace

Outcome::Outcome(const std::function<void()>& work, int rank) : code_(no_failure) {
  try {
    work();
    return;
  } catch (const PeerFailure& error) {
    own_ = error;
    repeated_ = true;
  } catch (...) {
    own_ = as_error(std::current_exception());
  }
  code_ = encode(repeated_, rank, own_->exit_status());
}

void Outcome::settle(std::int64_t smallest, int ranks) const {
  if (smallest == no_failure) return;
  if (smallest == code_ && !repeated_) {
    if (ranks == 1) throw Error(own_->category(), own_->message(), own_->field());
    throw AgreedError(own_->category(), own_->message(), own_->field());
  }
  throw PeerFailure(category_of(smallest), "rank " + std::to_string(rank_of(smallest)) + " failed");
}

void agree(Communicator& communicator, const std::function<void()>& work) {
  const Outcome own(work, communicator.rank());
  own.settle(std::ranges::min(all_gather(communicator, own.code())), communicator.size());
}

}  // namespace lockstep
