#pragma once

#include <string>

namespace lockstep {

/// Writes `text` to stdout. Throws Error(resource) if that fails, for example on a full disk.
void print(const std::string& text);

/// Prints `text` and flushes it. The reader may exit before it has read everything, as head does: the rest is
/// then dropped without an error. From then on, this process ignores SIGPIPE. Throws as print does for other
/// failures.
void print_report(const std::string& text);

/// Flushes stdout. Throws as print does.
void flush_output();

}  // namespace lockstep
