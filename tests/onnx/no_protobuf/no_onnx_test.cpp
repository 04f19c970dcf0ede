#include <gtest/gtest.h>

#include "lockstep/models.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "onnx/random_model.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

TEST(WithoutProtobuf, CommandsSayWhatIsMissing) {
  const std::string message = "this program was built without ONNX: " LOCKSTEP_ONNX_MISSING;
  const auto network = make_model("mlp:2", {1, 2, 2}, 3);
  expect_error(Category::resource, {message},
               [&] { export_onnx("m.onnx", *network, test::random_model(*network), {}); });
  expect_error(Category::resource, {message}, [] { import_onnx("m.onnx", {}); });
  EXPECT_TRUE(imported_operators().empty());
}

}  // namespace
}  // namespace lockstep
