#pragma once

#include "lockstep/field.h"

namespace lockstep {

/// How ranks exchange data. Does not affect the result.
enum class Transport {
  automatic,      ///< shared memory if all ranks are on one host that allows it, else messages
  shared_memory,  ///< memory that the ranks of one host share
  messages,       ///< MPI messages
};
inline Names choices_of(Transport) { return {"auto", "shared-memory", "messages"}; }

}  // namespace lockstep
