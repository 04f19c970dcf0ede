// Messages to users. Each entry of messages.txt has a few commands, their exit statuses, and words they
// print.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

Words split(const std::string& text, const std::string& separator) {
  Words parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(separator, begin)) != std::string::npos;) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// A command and its expected outcome. Texts are as in the file: " ... " stands for any text.
struct Command {
  std::string row_of{};  ///< text with {} that this row fills in; empty: not a row
  std::string text{};
  int status = 0;
  std::string message{};  ///< in one line on stderr
  Words printed{};        ///< on stdout
  Words absent{};         ///< on stdout and stderr
};

struct Entry {
  std::string name{};
  std::vector<int> ranks{};
  std::string needs{};  ///< required part of the program; empty: none
  std::vector<Command> commands{};
  int line = 0;
};

constexpr const char* file = LOCKSTEP_SOURCE "/tests/program/messages.txt";

/// Reads "STATUS WORDS". Returns the words, which the next line may continue.
std::string* read_outcome(const std::string& text, Command& command) {
  std::size_t end = 0;
  command.status = std::stoi(text, &end);
  command.message = text.substr(std::min(text.size(), end + 1));
  return &command.message;
}

std::vector<Entry> read_entries() {
  std::vector<Entry> entries;
  std::ifstream stream(file);
  std::string* last = nullptr;  // text that an indented line continues
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::string text = line.size() > 4 ? line.substr(4) : std::string();
    if (!line.starts_with(' ')) {
      const Words parts = split(line, ": ");
      const Words runs = split(parts.at(1), " with ");
      entries.push_back({.name = parts.at(0), .needs = runs.size() > 1 ? runs[1] : "", .line = number});
      for (const std::string& ranks : split(runs[0], ",")) entries.back().ranks.push_back(std::stoi(ranks));
    } else if (line.starts_with("  $ ")) {
      entries.back().commands.push_back({.text = text});
      last = &entries.back().commands.back().text;
    } else if (line.starts_with("    ")) {
      *last += " " + text;
    } else {
      std::vector<Command>& commands = entries.back().commands;
      if (line.starts_with("  | ")) {
        if (commands.back().row_of.empty()) {
          commands.back() = {.row_of = commands.back().text};
        } else {
          commands.push_back({.row_of = commands.back().row_of});
        }
        const std::size_t equals = (" " + text).find(" = ");
        std::string& command = commands.back().text = commands.back().row_of;
        command.replace(command.find("{}"), 2, text.substr(0, equals == 0 ? 0 : equals - 1));
        last = read_outcome(text.substr(equals + 2), commands.back());
      } else if (line.starts_with("  = ")) {
        last = read_outcome(text, commands.back());
      } else if (line.starts_with("  > ")) {
        last = &commands.back().printed.emplace_back(text);
      } else if (line.starts_with("  ! ")) {
        last = &commands.back().absent.emplace_back(text);
      } else {
        throw std::runtime_error(std::string(file) + ":" + std::to_string(number) +
                                 ": an unknown kind of row");
      }
    }
  }
  return entries;
}

/// Whether `line` contains the parts of `text` in order.
bool matches(const std::string& line, const std::string& text) {
  std::size_t at = 0;
  return std::ranges::all_of(split(text, " ... "), [&](const std::string& part) {
    const std::size_t found = line.find(part, at);
    at = found + part.size();
    return found != std::string::npos;
  });
}

/// Returns a line for each difference between outcome and description; empty if they agree.
std::string differences(const Command& command, const Outcome& outcome) {
  std::string found;
  const auto expect = [&](bool as_described, const std::string& difference) {
    if (!as_described) found += difference + "\n";
  };
  expect(outcome.status == command.status,
         "status " + std::to_string(outcome.status) + ", not " + std::to_string(command.status));
  const bool is_error = command.status > 1 && command.status != 75;
  Words lines = lines_of(outcome.err);
  if (is_error) {
    std::erase_if(lines, [](const auto& line) {
      return !line.starts_with("lockstep: error: ") && !line.starts_with("lockstep-run: error: ");
    });
  }
  expect(!is_error || lines.size() == 1, std::to_string(lines.size()) + " errors");
  expect(is_error || !holds(outcome.err, "lockstep: error: "), "an error");
  const auto has_message = [&](const std::string& line) { return matches(line, command.message); };
  const auto messages = std::ranges::count_if(lines, has_message);
  expect(command.message.empty() || messages == 1,
         std::to_string(messages) + " lines with: " + command.message);
  const Words printed = lines_of(outcome.out);
  for (const std::string& text : command.printed) {
    expect(std::ranges::any_of(printed, [&](const auto& line) { return matches(line, text); }),
           "no line with: " + text);
  }
  Words absent = command.absent;
  if (is_error && command.printed.empty()) absent.emplace_back("epoch 1/");
  if (command.status == 2) absent.emplace_back("MPI_ABORT");
  for (const std::string& text : absent) expect(!holds(outcome.out + outcome.err, text), "has: " + text);
  return found;
}

/// Data sets for $data and $images.
struct Data {
  Data() {
    write_small_fashion_mnist(fashion, 600, 100);
    write_even_odd_folders(images);
    for (const char* part : {"train", "val"}) images.write(std::string(part) + "/odd/7.jpg", "damaged");
  }
  TemporaryFolder fashion, images;
};

/// Bash definitions of the names that messages.txt explains.
std::string definitions(int ranks) {
  static const Data data;
  const auto folder_of = [](const char* program) {
    return std::filesystem::path(program).parent_path().string();
  };
  const std::string mpirun = "timeout -k 5 120 '" LOCKSTEP_MPIEXEC "' --oversubscribe --bind-to none";
  const std::string start = ranks > 1 ? mpirun + " -np " + std::to_string(ranks) : "timeout -k 5 120";
  return "export PATH='" + folder_of(LOCKSTEP_PROGRAM) + "':'" + folder_of(LOCKSTEP_EMULATED) + "':$PATH\n" +
         "data='" + data.fashion.string() + "'\nimages='" + data.images.string() + "'\n" +
         "source='" LOCKSTEP_SOURCE
         "'\nsmall='--dataset synthetic "
         "--synthetic-shape 1x12x12 --samples 150 "
         "--model mlp:12 --batch-size 64 --micro-batches 4'\n" +
         "bench='--dataset synthetic --synthetic-shape 1x28x28 --classes 10 --batch-size 16 --rounds 1'\n" +
         "digest() { grep -o 'xxh3:[0-9a-f]*'; }\n"
         "unread() { rm -f closed status; { until [ -e closed ]; do sleep 0.01; done;\n"
         "  \"$@\" && echo 0 >status || echo $? >status; } | { exec 0<&-; : >closed; };\n"
         "  until [ -s status ]; do sleep 0.01; done; return $(cat status); }\n"
         "mpirun() { " +
         mpirun + " \"$@\"; }\nlockstep() { " + start + " lockstep \"$@\"; }\n" + "lockstep-emulated() { " +
         start + " lockstep-emulated \"$@\"; }\n";
}

class Message : public testing::Test {
 public:
  explicit Message(Entry entry) : entry_(std::move(entry)) {}
  void TestBody() override {
    for (const int ranks : entry_.ranks) {
      // The mpirun of Open MPI 5 sometimes loses or damages the last line of a rank.
      const int tries = ranks > 1 && !LOCKSTEP_OPEN_MPI_4 ? 5 : 1;
      std::string found = first_difference(ranks);
      for (int tried = 1; !found.empty() && tried < tries; ++tried) found = first_difference(ranks);
      if (!found.empty()) ADD_FAILURE() << found;
    }
  }

 private:
  /// Runs the commands until an outcome differs from its description. Returns the differences, the command
  /// and its output, or an empty string if all outcomes match.
  std::string first_difference(int ranks) {
    const TemporaryFolder folder;
    for (const Command& command : entry_.commands) {
      const Outcome outcome =
          run({"bash", "-c", definitions(ranks) + "set -e -o pipefail\ncd \"$0\"\n" + command.text,
               folder.string()});
      if (outcome.mpirun_failed) return first_difference(ranks);
      const std::string found = differences(command, outcome);
      if (!found.empty()) {
        return found + std::to_string(ranks) + " ranks: " + command.text + "\n" + outcome.out + outcome.err;
      }
    }
    return "";
  }

  Entry entry_;
};

const bool registered = [] {
  for (const Entry& entry : read_entries()) {
    if (entry.needs == "Open MPI 4" && !LOCKSTEP_OPEN_MPI_4) continue;
    if (entry.needs == "ONNX" && !std::string_view(LOCKSTEP_ONNX_MISSING).empty()) continue;
    testing::RegisterTest("Messages", entry.name.c_str(), nullptr, nullptr, file, entry.line,
                          [entry]() -> testing::Test* { return new Message(entry); });
  }
  return true;
}();

}  // namespace
}  // namespace lockstep::test
