#include "hosts/host_answer.h"

#include <sstream>

#include "core/json/json.h"
#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

/// Facts after the first `word`, up to the end of its line; none: no such line, or another version wrote it.
/// A shell may have printed something before `word`, with or without a line end.
template <class Facts>
std::optional<Facts> find_facts(const std::string& text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(at + word.size());
  try {
    Facts facts;
    const JsonDocument document(rest.substr(0, rest.find('\n')), {.file = "answer", .is_message = true});
    document.read(document.root(), facts);
    return facts;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) last = line;
  }
  return printable(last);
}

/// Statuses of a shell that cannot start a program, and of ssh that cannot connect.
constexpr int not_executable = 126, not_found = 127, not_connected = 255;

void explain_failure(const ProgramOutput& output, const std::string& program, const std::string& shell,
                     HostAnswer& answer) {
  const std::string reason = last_line(output.errors);
  const std::string quoted = reason.empty() ? "" : " (" + reason + ")";
  if (output.answer == Answer::late) {
    answer.failure = "does not answer within " + std::to_string(answer_limit.count()) + " s" + quoted;
  } else if (output.answer == Answer::none) {
    answer.failure = "cannot be asked: " + (shell.empty() ? program : shell) + " cannot be started";
  } else if (output.status >= not_executable && output.status <= not_found) {
    answer.failure = "has no program " + program + quoted;
    answer.remedy = "install lockstep in the same folder on all hosts, or share it";
    return;
  } else if (output.status == not_connected && !shell.empty()) {
    answer.failure = "cannot be reached" + (reason.empty() ? "" : ": " + reason);
  } else {
    answer.failure = "does not answer the questions of this version of lockstep-run" + quoted;
    answer.remedy = "install the same build of lockstep on all hosts";
    return;
  }
  answer.remedy =
      shell.empty() ? "look at this machine" : "this must work without a question: " + shell + " true";
}

}  // namespace

HostAnswer read_answer(const ProgramOutput& output, const std::string& program, const std::string& shell) {
  HostAnswer answer{.answered = output.ended};
  answer.facts = find_facts<HostFacts>(output.text, host_facts_word);
  answer.data = find_facts<DataFacts>(output.text, data_facts_word);
  if (!answer.facts) explain_failure(output, program, shell, answer);
  return answer;
}

}  // namespace lockstep::launcher
