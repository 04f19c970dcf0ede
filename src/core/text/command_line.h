#pragma once

#include <string>
#include <vector>

/// Shell command lines for messages, and commands that continue a run.
namespace lockstep {

/// Joins `words` into a shell command line, with quotes where needed.
std::string shell_line(const std::vector<std::string>& words);

/// `command`, such as {"train", "--lr", "0.2"}, changed so that it continues the run in `run_directory`
/// (empty: unknown). If there is a checkpoint, the run continues with its recorded options, except those
/// given in `command`; otherwise it begins again in the directory.
std::vector<std::string> resume_command(const std::vector<std::string>& command,
                                        const std::string& run_directory, bool has_checkpoint);

/// Advice to continue the run with resume_command: "resume with: START train ...", or "begin again with: ..."
/// if there is no checkpoint. `start`: the words that start the program, such as "lockstep-run -np 4".
std::string restart_advice(const std::string& start, const std::vector<std::string>& command,
                           const std::string& run_directory, bool has_checkpoint);

}  // namespace lockstep
