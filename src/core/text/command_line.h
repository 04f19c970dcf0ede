#pragma once

#include <string>
#include <vector>

/// Command lines that people paste, and those that continue a run.
namespace lockstep {

/// Words as a line for a shell, with quotes where it needs them.
std::string shell_line(const std::vector<std::string>& words);

/// `command`, such as {"train", "--lr", "0.2"}, changed so that it continues the run in this directory
/// (empty: unknown). If there is a checkpoint, the run continues with its recorded options, replaced by those
/// that `command` gives; otherwise it begins again in the directory.
std::vector<std::string> resume_command(const std::vector<std::string>& command,
                                        const std::string& run_directory, bool has_checkpoint);

/// Advice to continue the run by resume_command: "resume with: START train ...", or "begin again with: ..."
/// if there is no checkpoint. `start`: what starts the program, such as "lockstep-run -np 4".
std::string restart_advice(const std::string& start, const std::vector<std::string>& command,
                           const std::string& run_directory, bool has_checkpoint);

}  // namespace lockstep
