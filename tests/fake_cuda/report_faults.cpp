// Fails the test in which a fault happened. Linked into test programs as an object, which registers the
// listener before main().
#include <gtest/gtest.h>

#include "fake_cuda/fake_cuda.h"

namespace lockstep::fake_cuda {
namespace {

class ReportFaults final : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& /*info*/) override {
    for (const std::string& text : take_faults()) ADD_FAILURE() << "fake CUDA: " << text;
  }
};

const bool added = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new ReportFaults);
  return true;
}();

}  // namespace
}  // namespace lockstep::fake_cuda
