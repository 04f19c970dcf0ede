#include "report/sinks/metrics_sink.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"
#include "report/run_directory.h"
#include "report/sinks/progress_text.h"

namespace lockstep {
namespace {

constexpr double seconds_between_flushes = 1.0;

/// `text` as JSON; bytes that are not UTF-8 are replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
  if (event.skipped_steps > 0) {
    fmt::format_to(fmt::appender(text), R"(,"skipped_steps":{})", event.skipped_steps);
  }
  append_number(text, "images_per_second", event.images_per_second());
  append_number(text, "seconds", event.seconds);
  if (!event.digest.empty()) fmt::format_to(fmt::appender(text), R"(,"digest":"{}")", event.digest);
  fmt::format_to(fmt::appender(text), "}}\n");
}

void append_line(fmt::memory_buffer& text, const DigestReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"digest","step":{},"digest":"{}"}})", event.step,
                 event.digest);
  text.push_back('\n');
}

void append_line(fmt::memory_buffer& text, const StragglerReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"straggler","step":{},"rank":{},"host":{},"steps":{})",
                 event.step, event.rank, quoted(event.host), event.steps);
  append_number(text, "seconds_per_sample", event.seconds);
  append_number(text, "median_seconds_per_sample", event.median);
  fmt::format_to(fmt::appender(text), "}}\n");
}

void append_line(fmt::memory_buffer& text, const NotFiniteReport& event) {
  fmt::format_to(fmt::appender(text),
                 R"({{"event":"not_finite","step":{},"epoch":{},"reason":{},"samples":{},"handling":"{}")",
                 event.step, event.epoch, quoted(event.what()), event.samples.size(),
                 name_of(event.handling));
  if (event.handling == OnNan::rollback) {
    fmt::format_to(fmt::appender(text), R"(,"back_to_step":{})", event.back_to_step);
  }
  fmt::format_to(fmt::appender(text), "}}\n");
}

void append_line(fmt::memory_buffer& text, const CheckpointReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"checkpoint","step":{})", event.step);
  if (!event.failure.empty()) {
    fmt::format_to(fmt::appender(text), R"(,"failure":{})", quoted(event.failure));
  }
  append_number(text, "stall_seconds", event.stall_seconds);
  append_number(text, "write_seconds", event.write_seconds);
  fmt::format_to(fmt::appender(text), "}}\n");
}

void append_line(fmt::memory_buffer& text, const EndReport& event) {
  fmt::format_to(fmt::appender(text), R"({{"event":"end","digest":{})", nlohmann::json(event.digest).dump());
  if (!event.note.empty()) {
    fmt::format_to(fmt::appender(text), R"(,"note":{})", nlohmann::json(event.note).dump());
  }
  fmt::format_to(fmt::appender(text), "}}\n");
}

MetricsSink::MetricsSink(const std::filesystem::path& file, std::uint64_t log_interval)
    : path_(file), file_(file), log_interval_(log_interval), flushed_at_(steady_seconds()) {}

MetricsSink::~MetricsSink() {
  try {
    flush();
  } catch (const Error&) {  // the run is already ending with another error
  }
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

void MetricsSink::on_digest(const DigestReport& event) { append_line(pending_, event); }

void MetricsSink::on_straggler(const StragglerReport& event) { append_line(pending_, event); }

void MetricsSink::on_not_finite(const NotFiniteReport& event) {
  if (event.handling == OnNan::rollback) {
    flush();
    cut_metrics({path_.parent_path()}, event.back_to_step, event.back_to_epoch);
    file_ = LineWriter(path_);  // cutting makes another file of this name
  }
  append_line(pending_, event);
  if (event.handling == OnNan::stop) flush();
}

void MetricsSink::on_checkpoint(const CheckpointReport& event) { append_line(pending_, event); }

void MetricsSink::on_end(const EndReport& event) {
  append_line(pending_, event);
  flush();
}

void MetricsSink::flush() {
  try {
    file_.append({pending_.data(), pending_.size()});
  } catch (const Error&) {
    pending_.clear();  // so that the destructor does not try again
    throw;
  }
  pending_.clear();
  flushed_at_ = steady_seconds();
}

}  // namespace lockstep
