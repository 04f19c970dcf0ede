#pragma once

namespace lockstep {

/// Version of lockstep, "0.1.0".
const char* version();

/// Digest of the sources that affect results: ranks whose programs differ in it may compute different bits.
const char* revision();

/// CUDA version that this program was built for; empty if built without CUDA.
const char* cuda_version();

}  // namespace lockstep
