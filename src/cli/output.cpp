#include "cli/output.h"

#include <cerrno>
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

void flush_output() {
  if (std::fflush(stdout) != 0) fail();
}

}  // namespace lockstep
