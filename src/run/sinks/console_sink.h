#pragma once

#include <cstdio>
#include <string>

#include "run/sinks/progress_text.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Line of an epoch, without line feed. With a validation set, `val loss` and `val acc` precede the test's:
/// `epoch 3/10  train loss 0.6412  train acc 0.7590  test loss 0.6120  test acc 0.7712  2.31 s  25974 img/s`
std::string epoch_line(const EpochReport& event, SampleKind kind = SampleKind::image);

/// Line at the end of a run: `digest xxh3:<32 hex>`, followed by ` (note)` if there is one.
std::string end_line(const EndReport& event);

/// Prints these lines to `stream`, which it does not own. `quiet`: prints only the line at the end. If the
/// reader of the stream has exited, or the stream was closed from the start, prints a warning and then
/// nothing more. Throws Error(resource) if the stream cannot be written for another reason.
class ConsoleSink : public Sink {
 public:
  ConsoleSink(std::FILE* stream, bool quiet, SampleKind kind = SampleKind::image)
      : stream_(stream), quiet_(quiet), kind_(kind) {}
  void on_event(const RunEvent& event) override;
  void flush() override;

 private:
  void print(const std::string& line);
  void fail();

  std::FILE* stream_;
  bool quiet_;
  SampleKind kind_;
  bool closed_ = false;
};

}  // namespace lockstep
