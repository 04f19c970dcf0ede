#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/json/json.h"
#include "lockstep/reports.h"

/// Lines of metrics.jsonl. Each line is one event, as the event's `visit` describes it.
namespace lockstep {

/// Appends the line of `event` to `text`. Numbers have 9 significant digits; NaN and infinity become null.
/// For a step, allocates nothing once `text` is large enough.
void append_line(fmt::memory_buffer& text, const RunEvent& event);

/// Appends a number with as many digits as in lines; float in its shortest form: 0.1 instead of 0.100000001.
template <class Number>
void append_number(fmt::memory_buffer& text, Number number) {
  if constexpr (std::is_same_v<Number, double>) {
    fmt::format_to(fmt::appender(text), "{:.9g}", number);
  } else {
    fmt::format_to(fmt::appender(text), "{}", number);
  }
}

/// Text of a number, as append_number writes it.
template <class Number>
std::string number_text(Number number) {
  fmt::memory_buffer text;
  append_number(text, number);
  return fmt::to_string(text);
}

/// A line that was read; a later version may have written it.
class RecordLine {
 public:
  /// Throws Error(data) with the reason for a line that is damaged.
  explicit RecordLine(std::string_view line);

  bool is_step() const { return kind_ == StepReport::event; }
  bool is_not_finite() const { return kind_ == NotFiniteReport::event; }
  /// Step of the event; 0: the line has none.
  std::uint64_t step() const { return step_; }
  /// Whether the event is from the run up to `last_step` and `last_epoch`; false for an event that ended the
  /// run.
  bool is_within(std::uint64_t last_step, int last_epoch) const;
  /// The event; nullopt if only a later version knows it. Numbers that are null become NaN. Throws
  /// Error(data) with the reason if a field is missing or has another type.
  std::optional<RunEvent> event() const;

 private:
  JsonValue json_;
  std::string kind_;
  std::uint64_t step_ = 0;
  int epoch_ = 0;
  bool ends_ = false;  ///< whether the event ended the run
};

}  // namespace lockstep
