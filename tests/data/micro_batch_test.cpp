#include "data/feed/micro_batch.h"

#include <gtest/gtest.h>

#include <set>

#include "data/feed/micro_batch_rule.h"
#include "lockstep/sampler.h"

namespace lockstep {
namespace {

TEST(MicroBatchLayout, HasAlignedArraysThatDoNotOverlap) {
  for (const bool mixes : {false, true}) {
    const std::size_t targets = mixes ? 3 : 0;
    const MicroBatchLayout layout(70, 5, mixes, targets);
    std::vector<std::byte> block(layout.bytes(70));
    const MicroBatch batch = layout.arrays(block.data(), 70);
    std::vector<std::pair<const void*, std::size_t>> parts{
        {batch.random, sizeof(RandomKey)}, {batch.ids, 70 * 8}, {batch.labels, 70 * 4}};
    if (mixes)
      parts.insert(parts.end(),
                   {{batch.partner_labels, 70 * 4}, {batch.shares, 70 * 4}, {batch.targets, 70 * 3 * 4}});
    parts.emplace_back(layout.sample(block.data(), 0), 70 * 5);
    std::size_t end = 0;
    for (const auto& [first, bytes] : parts) {
      const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(first) - block.data());
      EXPECT_EQ(offset % 256, 0U);
      EXPECT_GE(offset, end);
      end = offset + bytes;
    }
    EXPECT_EQ(end, block.size());
    EXPECT_EQ(batch.mixes(), mixes);
    EXPECT_EQ(batch.partner_labels != nullptr, mixes);
    EXPECT_EQ(batch.targets != nullptr, targets > 0);
    EXPECT_EQ(batch.target_count, targets);
    EXPECT_EQ(layout.bytes(70) - layout.bytes(3), 67U * 5);  // a short micro-batch is a short block
  }
}

TEST(MicroBatchRule, KeepsTheDataSetsOrderUntilAnEpochStarts) {
  MicroBatchRule rule = MicroBatchRule::make({}, {1, 4, 4}, 100, 7);
  for (std::uint64_t position = 0; position < 100; ++position) EXPECT_EQ(rule.id(position), position);
  std::set<std::uint64_t> ids;
  rule.start_epoch(2);
  for (std::uint64_t position = 0; position < 100; ++position) ids.insert(rule.id(position));
  EXPECT_EQ(ids.size(), 100U);
  EXPECT_EQ(rule.id(3), Permutation(100, 7, 2)(3));
}

TEST(MicroBatchRule, WritesEntriesInAnyOrderAndPartnersAreMutual) {
  const MicroBatchRule rule = MicroBatchRule::make({.mixup = 0.3}, {1, 4, 4}, 100, 7);
  for (const std::uint32_t size : {1U, 6U, 7U}) {
    const MicroBatchLayout layout(size, 0, true, 2);
    std::vector<std::byte> block(layout.bytes(0));
    const MicroBatch batch = layout.arrays(block.data(), size);
    for (std::uint32_t i = size; i-- > 0;) {
      const float targets[] = {static_cast<float>(i), 0.5F};
      rule.write(batch, i, 50 + i, {.label = static_cast<int>(i), .values = targets}, rule.share(9));
    }
    for (std::uint32_t i = 0; i < size; ++i) {
      EXPECT_EQ(MicroBatchRule::partner(MicroBatchRule::partner(i, size), size), i);
      EXPECT_EQ(batch.ids[i], 50 + i);
      EXPECT_EQ(batch.labels[i], static_cast<int>(i));
      EXPECT_EQ(batch.targets[2 * i], static_cast<float>(i));
      EXPECT_EQ(batch.targets[2 * i + 1], 0.5F);
      EXPECT_EQ(batch.partner_labels[i], static_cast<int>(size - 1 - i));
      EXPECT_EQ(batch.shares[i], mixup_share(0.3, 7, 0, 9));
    }
    EXPECT_EQ(batch.random->seed, 7U);
  }
}

}  // namespace
}  // namespace lockstep
