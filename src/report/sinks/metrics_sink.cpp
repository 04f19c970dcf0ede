#include "report/sinks/metrics_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double seconds_between_flushes = 1.0;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void append_number(fmt::memory_buffer& text, std::string_view name, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(fmt::appender(text), ",\"{}\":{:.9g}", name, value);
  } else {
    fmt::format_to(fmt::appender(text), ",\"{}\":null", name);
  }
}

void append_rate(fmt::memory_buffer& text, float value) {
  if (std::isfinite(value)) {
    // Shortest form: 0.1 as float reads 0.1, not 0.100000001.
    fmt::format_to(fmt::appender(text), ",\"learning_rate\":{}", value);
  } else {
    append_number(text, "learning_rate", value);
  }
}

}  // namespace

void append_line(fmt::memory_buffer& text, const StepReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"step","epoch":{},"step":{},"samples":{})", event.epoch,
                 event.step, event.samples);
  append_number(text, "loss", event.loss);
  append_rate(text, event.learning_rate);
  append_number(text, "seconds", event.seconds);
  fmt::format_to(fmt::appender(text), "}}\n");
}

void append_line(fmt::memory_buffer& text, const EpochReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"epoch","epoch":{})", event.epoch);
  append_number(text, "train_loss", event.train.loss);
  append_number(text, "train_accuracy", event.train.accuracy);
  append_number(text, "test_loss", event.test.loss);
  append_number(text, "test_accuracy", event.test.accuracy);
  if (event.validation) {
    append_number(text, "validation_loss", event.validation->loss);
    append_number(text, "validation_accuracy", event.validation->accuracy);
    fmt::format_to(fmt::appender(text), R"(,"validation_left_out":{})", event.validation->skipped);
  }
  fmt::format_to(fmt::appender(text), R"(,"train_left_out":{},"test_left_out":{})", event.train.skipped,
                 event.test.skipped);
  append_number(text, "images_per_second", event.images_per_second());
  append_number(text, "seconds", event.seconds);
  fmt::format_to(fmt::appender(text), "}}\n");
}

void append_line(fmt::memory_buffer& text, const EndReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"end","digest":{})", nlohmann::json(event.digest).dump());
  if (!event.note.empty()) {
    fmt::format_to(fmt::appender(text), R"(,"note":{})", nlohmann::json(event.note).dump());
  }
  fmt::format_to(fmt::appender(text), "}}\n");
}

MetricsSink::MetricsSink(std::filesystem::path file, std::uint64_t log_interval)
    : file_(std::move(file)), log_interval_(log_interval), flushed_at_(steady_seconds()) {
  descriptor_ = FileDescriptor(::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (descriptor_.get() < 0) fail();
  cut_incomplete_line();
}

MetricsSink::~MetricsSink() {
  try {
    flush();
  } catch (const Error&) {  // the run is already ending with another error
  }
}

void MetricsSink::cut_incomplete_line() {
  off_t end = ::lseek(descriptor_.get(), 0, SEEK_END);
  for (char last = 0; end > 0; --end) {
    if (::pread(descriptor_.get(), &last, 1, end - 1) != 1 || last == '\n') break;
  }
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == end) return;
  if (::ftruncate(descriptor_.get(), end) != 0) fail();
}

void MetricsSink::on_step(const StepReport& event) {
  if (event.step % log_interval_ != 0) return;
  append_line(pending_, event);
  if (steady_seconds() - flushed_at_ >= seconds_between_flushes) flush();
}

void MetricsSink::on_epoch(const EpochReport& event) {
  append_line(pending_, event);
  flush();
}

void MetricsSink::on_end(const EndReport& event) {
  append_line(pending_, event);
  flush();
}

void MetricsSink::flush() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = ::write(descriptor_.get(), pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      pending_.clear();  // so that the destructor does not try again
      fail();
    }
    done += static_cast<std::size_t>(count);
  }
  pending_.clear();
  flushed_at_ = steady_seconds();
}

void MetricsSink::fail() const {
  throw Error(Category::resource, fmt::format("{}: {}", file_.string(), std::strerror(errno)));
}

}  // namespace lockstep
