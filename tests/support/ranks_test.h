#pragma once

#include <gtest/gtest.h>

#include "lockstep/world.h"

namespace lockstep::test {

/// A test that all ranks of mpirun run at the same time; its body may use collectives. When a check fails on
/// one rank, the test fails on all. A failed ASSERT or an exception ends all ranks, as the others may wait
/// for this one.
class RanksTest : public testing::Test {
 public:
  static World& world();

 protected:
  void TearDown() override;
};

}  // namespace lockstep::test
