#pragma once

#include <string>

namespace lockstep {

/// Writes `text` to stdout. Throws Error(resource) if that fails, for example on a full disk.
void print(const std::string& text);

/// Flushes stdout. Throws as print does.
void flush_output();

}  // namespace lockstep
