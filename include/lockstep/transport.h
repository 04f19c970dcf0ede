#pragma once

namespace lockstep {

/// How ranks exchange data. Never changes a result.
enum class Transport {
  automatic,      ///< shared memory where all ranks are on one host that allows it, else messages
  shared_memory,  ///< windows that the ranks of one host share
  messages,       ///< MPI messages
};

}  // namespace lockstep
