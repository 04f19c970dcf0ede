#pragma once

namespace lockstep {

/// Version of lockstep, "0.1.0".
const char* version();

/// Digest of the sources that decide results: ranks whose programs differ in it may compute other bits.
const char* revision();

}  // namespace lockstep
