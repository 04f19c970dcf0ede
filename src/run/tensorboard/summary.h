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
  std::string tag;  ///< name of the chart; what is before a slash is the group that it is shown in
  std::variant<float, Markdown, ConfusionPicture> content;
};

/// Summary of a step for TensorBoard or, for events without a step, of an epoch.
struct Summary {
  std::int64_t step = 0;
  std::vector<Value> values{};
};

/// Summary of an event for TensorBoard. The numbers of a step, and of an epoch: a scalar for each number in
/// its line, "step/loss" or "epoch/train_loss". ConfusionReport: a picture with a row per class, and a table
/// of the classes. EndReport: the digest as a text. Without values for other events.
Summary summary_of(const RunEvent& event);

/// Text with a table of these facts.
Summary summary_of(const std::string& tag, const Facts& facts);

}  // namespace lockstep::tensorboard
