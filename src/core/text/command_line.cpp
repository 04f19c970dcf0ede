#include "core/text/command_line.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace lockstep {
namespace {

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// Removes an option with its value, "--name value" or "--name=value", and returns the value; empty if
/// absent.
std::string remove_option(std::vector<std::string>& words, const std::string& name) {
  std::string value;
  for (auto word = words.begin(); word != words.end();) {
    if (*word == name) {
      const auto end = word + std::min<std::ptrdiff_t>(2, words.end() - word);
      if (end - word == 2) value = word[1];
      word = words.erase(word, end);
    } else if (word->starts_with(name + "=")) {
      value = word->substr(name.size() + 1);
      word = words.erase(word);
    } else {
      ++word;
    }
  }
  return value;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
}

std::vector<std::string> resume_command(const std::vector<std::string>& command,
                                        const std::string& run_directory, bool has_checkpoint) {
  if (run_directory.empty()) return command;
  std::vector<std::string> words = command;
  remove_option(words, "--run-dir");
  const std::string from = remove_option(words, "--resume");
  if (has_checkpoint) {
    words.insert(words.end(), {"--run-dir", run_directory, "--resume", run_directory});
  } else if (from.empty() || from == "auto") {
    words.insert(words.end(), {"--run-dir", run_directory, "--resume", "auto"});
  } else {
    return command;  // resumes another run, with its options
  }
  return words;
}

std::string restart_advice(const std::string& start, const std::vector<std::string>& command,
                           const std::string& run_directory, bool has_checkpoint) {
  return (has_checkpoint ? "resume with: " : "begin again with: ") + start + " " +
         shell_line(resume_command(command, run_directory, has_checkpoint));
}

}  // namespace lockstep
