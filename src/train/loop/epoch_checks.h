#pragma once

#include <array>
#include <cstdint>

#include "data/feed/loader.h"
#include "lockstep/sampler.h"
#include "train/run.h"
#include "train/session/session.h"

/// Checks over all ranks. Unless noted otherwise, an error is a defect or
/// a broken device: Error(internal) on all ranks. Collective.
namespace lockstep {

/// Checks that each sample of epoch `epoch` (from 0), from step `first_step` of the epoch on, was visited
/// exactly once, on some rank. `before`, `after`: this rank's visits before that step and at the end of the
/// epoch.
void check_visits(const Session& session, const Run& run, std::uint32_t epoch, std::uint64_t first_step,
                  const VisitSum& before, const VisitSum& after);

/// Sum of what the ranks have visited.
VisitSum sum_over_ranks(const Session& session, const VisitSum& own);

/// Sum over ids and contents of the image files at the positions `left_out` of epoch `epoch` (from 0), which
/// no step reads: all ranks read them here, each its share. As in steps, files that cannot be read do not
/// count.
VisitSum contents_of(const Session& session, const Run& run, std::uint32_t epoch, SampleRange left_out);

/// Checks that epoch `number` (from 1) has read the same bytes as earlier epochs of the run: `read` is the
/// sum over the contents of the samples of the whole epoch, over all ranks, `known` that of an earlier epoch;
/// zero: there is none yet, and it is set. Throws Error(data): files were changed, or hosts have different
/// ones.
void check_contents(const Session& session, int number, const VisitSum& read,
                    std::array<std::uint64_t, 2>& known);

/// Checks that the parameters of all ranks have the same hash after `step` steps. The message names the ranks
/// that differ from the majority of the copies.
void check_same_parameters(const Session& session, std::uint64_t step, std::array<std::uint64_t, 2> hash);

}  // namespace lockstep
