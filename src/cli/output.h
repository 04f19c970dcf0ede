#pragma once

#include <string>

namespace lockstep {

/// Writes `text` to stdout. Throws Error(resource) if that fails, for example on a full disk.
void print(const std::string& text);

/// Prints `text` at once. Its reader may end before it has read all, as head does: the rest is then dropped,
/// which is no failure. From then on, this process ignores SIGPIPE. Throws as print does for other reasons.
void print_report(const std::string& text);

/// Flushes stdout. Throws as print does.
void flush_output();

}  // namespace lockstep
