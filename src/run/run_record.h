#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/checkpoint.h"
#include "run/run_folder.h"
#include "run/sinks/progress_text.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Digest of the parameters at some point of a run.
struct RecordedDigest {
  std::uint64_t number = 0;  ///< of the step or epoch after which it was taken
  std::string digest;        ///< "xxh3:" and 32 hexadecimal digits
};

/// Record of a run, read from its directory.
struct RunRecord {
  std::string name;               ///< name of the directory
  std::vector<StepReport> steps;  ///< ascending; the last report of each step, which a resumed run may repeat
  std::vector<EpochReport> epochs;            ///< likewise; `epochs` of all reports is the largest epoch
  std::vector<ConfusionReport> confusions;    ///< likewise
  std::vector<RecordedDigest> step_digests;   ///< of "digest" events, likewise
  std::vector<RecordedDigest> epoch_digests;  ///< of "epoch" events that have one, likewise
  std::optional<EndReport> end;               ///< none: see reason_without_end
  std::optional<NotFiniteReport> stopped;     ///< last event, if the run has stopped for it
  Facts options;                              ///< options.cfg, in its order; empty: no such file
  Facts environment;                          ///< environment.json, in its order; empty: no such file
};

/// Why the record of a run has no end, in words.
std::string reason_without_end(const RunRecord& record);

/// Samples of a run: images, also where the record does not say it.
SampleKind samples_of(const RunRecord& record);

/// Reads the record in a run folder. Ignores an incomplete last line of metrics.jsonl, of a run that is
/// writing it or was killed. Numbers that are null become NaN. Throws Error(data) with file, line and reason.
RunRecord read_run_record(const RunFolder& folder);

}  // namespace lockstep
