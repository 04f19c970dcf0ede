#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/checkpoint.h"
#include "lockstep/reports.h"
#include "run/report/confusion_picture.h"

namespace lockstep::tensorboard {

struct Markdown {
  std::string text;
};

struct Value {
  std::string tag;  ///< name of the chart; the part before a slash is the chart's group
  std::variant<float, Markdown, ConfusionPicture> content;
};

/// Values of an event for TensorBoard. `step` is the step of the event or, for events without a step, the
/// epoch.
struct Summary {
  std::int64_t step = 0;
  std::vector<Value> values{};
};

/// Summary of an event for TensorBoard. StepReport and EpochReport: a scalar for each number in the line,
/// such as "step/loss" or "epoch/train_loss". ConfusionReport: a picture with a row per class, a table of the
/// classes, and scalars of the macro averages. EndReport: the digest as a text. Other events: no values.
Summary summary_of(const RunEvent& event);

/// Summary with a table of `facts` as text.
Summary summary_of(const std::string& tag, const Facts& facts);

}  // namespace lockstep::tensorboard
