#pragma once

#include <string>

namespace lockstep {

/// Writes `text` to stdout. Throws Error(resource) when stdout does not take it: a full disk, for example.
void print(const std::string& text);

/// Hands on what stdout still buffers. Throws as print does.
void flush_output();

}  // namespace lockstep
