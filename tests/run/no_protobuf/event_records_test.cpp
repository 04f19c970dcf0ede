#include "run/tensorboard/event_records.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep::tensorboard {
namespace {

TEST(EventRecords, NeedProtobuf) {
  expect_error(Category::resource, {"tensorboard: ", "built without protobuf"}, [] { check_available(); });
}

}  // namespace
}  // namespace lockstep::tensorboard
