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
  std::uint64_t number = 0;  ///< step or epoch after which the digest was computed
  std::string digest;        ///< "xxh3:" and 32 hexadecimal digits
};

/// Record of a run, read from its directory.
struct RunRecord {
  std::string name;               ///< name of the directory
  std::vector<StepReport> steps;  ///< ascending; the last report of each step, which a resumed run may repeat
  std::vector<EpochReport> epochs;            ///< ascending; `epochs` of all is the largest epoch
  std::vector<ConfusionReport> confusions;    ///< ascending by epoch
  std::vector<RecordedDigest> step_digests;   ///< of "digest" events, ascending
  std::vector<RecordedDigest> epoch_digests;  ///< of "epoch" events that have one, ascending
  std::optional<EndReport> end;               ///< none: see reason_without_end
  std::optional<NotFiniteReport> stopped;     ///< the last event, if it stopped the run
  Facts options;                              ///< options.cfg, in file order; empty if it is missing
  Facts environment;                          ///< environment.json, in file order; empty if it is missing
};

/// Sentence that explains why the record of a run lacks its end.
std::string reason_without_end(const RunRecord& record);

/// Kind of the samples of a run: images if the record does not say.
SampleKind samples_of(const RunRecord& record);

/// Reads the record in a run folder. Ignores an incomplete last line of metrics.jsonl, as a run leaves while
/// it is writing or if it is killed. Numbers that are null become NaN. Throws Error(data) with file, line and
/// reason.
RunRecord read_run_record(const RunFolder& folder);

}  // namespace lockstep
