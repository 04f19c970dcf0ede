#include "report/sinks/console_sink.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "lockstep/error.h"

namespace lockstep {

std::string epoch_line(const EpochEvent& event) {
  std::string line = fmt::format("epoch {}/{}  train loss {:.4f}  train acc {:.4f}", event.epoch,
                                 event.epochs, event.train_loss, event.train_accuracy);
  if (event.validation_loss) line += fmt::format("  val loss {:.4f}", *event.validation_loss);
  if (event.validation_accuracy) line += fmt::format("  val acc {:.4f}", *event.validation_accuracy);
  if (event.test_loss) line += fmt::format("  test loss {:.4f}", *event.test_loss);
  if (event.test_accuracy) line += fmt::format("  test acc {:.4f}", *event.test_accuracy);
  return line + fmt::format("  {:.2f} s  {:.0f} img/s", event.seconds, event.images_per_second);
}

std::string end_line(const EndEvent& event) {
  if (event.note.empty()) return "digest " + event.digest;
  return fmt::format("digest {} ({})", event.digest, event.note);
}

void ConsoleSink::on_step(const StepEvent& /*event*/) {}

void ConsoleSink::on_epoch(const EpochEvent& event) {
  if (!quiet_) print(epoch_line(event));
}

void ConsoleSink::on_end(const EndEvent& event) { print(end_line(event)); }

void ConsoleSink::flush() {
  if (std::fflush(stream_) != 0) {
    throw Error(Category::resource, fmt::format("stdout: {}", std::strerror(errno)));
  }
}

void ConsoleSink::print(const std::string& line) {
  fmt::memory_buffer text;
  fmt::format_to(fmt::appender(text), "{}\n", line);
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) {
    throw Error(Category::resource, fmt::format("stdout: {}", std::strerror(errno)));
  }
  flush();
}

}  // namespace lockstep
