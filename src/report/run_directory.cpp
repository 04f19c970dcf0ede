#include "report/run_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw Error(Category::resource, fmt::format("{}: {}", file.string(), reason));
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail(path, error.message());
}

}  // namespace

RunDirectory create_run_directory(const std::filesystem::path& path, const std::string& options,
                                  const std::string& environment) {
  RunDirectory directory{path};
  std::error_code error;
  if (std::filesystem::exists(directory.metrics(), error)) {
    throw Error(Category::usage,
                fmt::format("--run-dir {} already holds a run (metrics.jsonl); choose another directory or "
                            "remove this one",
                            path.string()));
  }
  make_directory(directory.checkpoints());
  write_text_file(directory.options(), options);
  write_text_file(directory.environment(), environment);
  return directory;
}

void write_text_file(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path temporary = file.string() + ".tmp";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(temporary.c_str(), "wb"), std::fclose);
  if (!stream) fail(file, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), stream.get()) == text.size();
  const bool closed = std::fclose(stream.release()) == 0;
  std::error_code error;
  if (!written || !closed) {
    const std::string reason = std::strerror(errno);
    std::filesystem::remove(temporary, error);
    fail(file, reason);
  }
  std::filesystem::rename(temporary, file, error);
  if (error) fail(file, error.message());
}

}  // namespace lockstep
