#include "cli/output.h"

#include <stdio_ext.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail() { throw Error(Category::resource, std::string("stdout: ") + std::strerror(errno)); }

}  // namespace

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void print_report(const std::string& text) {
  std::signal(SIGPIPE, SIG_IGN);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (errno != EPIPE) fail();
  __fpurge(stdout);
}

void flush_output() {
  if (std::fflush(stdout) != 0) fail();
}

}  // namespace lockstep
