#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/options/flag.h"
#include "cli/program_help.h"
#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "core/version.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct ManualOptions {
  std::string command;
  std::string output;
};

template <OptionsOf<ManualOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [command, output] = options;
  field(output, {.name = "output",
                 .help = "folder for the pages of all commands, instead of printing one",
                 .group = "Output",
                 .placeholder = "DIR"});
}

constexpr const char* program_page = "lockstep";

/// Name of a command as `lockstep man` accepts it: "data-pack".
std::string page_word(const Command& command) {
  std::string word = command.name;
  std::ranges::replace(word, ' ', '-');
  return word;
}

std::string page_name(const std::string& word) { return std::string(program_page) + "-" + word; }

Names page_words() {
  Names words;
  for (const Command& command : commands()) words.push_back(page_word(command));
  return words;
}

OptionSet option_set(ManualOptions& options) {
  OptionSet set(
      "lockstep man [COMMAND] | --output DIR",
      "Prints the manual page of a command, or of lockstep itself, for man. An installation has those "
      "of all commands: man lockstep-train.");
  set.optional_positional("COMMAND", "such as train or data-pack", options.command, "command", page_words());
  set.add(options);
  set.check([&options] {
    if (options.command.empty() || options.output.empty()) return;
    throw Error(Category::usage, "writes the pages of all commands: omit COMMAND",
                flag_of(&ManualOptions::output).substr(2));
  });
  set.epilogue("Example:\n  lockstep man train | man -l -\n");
  return set;
}

/// Escapes `text` for man, where backslashes, dashes, and dots and apostrophes at the start of a line are
/// special. Escaped dashes stay dashes when they are copied.
std::string plain(std::string_view text) {
  std::string result;
  bool starts = true;
  for (const char c : text) {
    if (starts && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    starts = c == '\n';
  }
  return result;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// A section whose lines are not wrapped. A first line such as "Examples:" becomes its heading.
std::string section_of_lines(std::string_view text) {
  if (text.empty()) return "";
  std::string heading = "NOTES";
  const std::size_t end = text.find('\n');
  if (const std::string_view first = text.substr(0, end); first.ends_with(':')) {
    heading = upper(std::string(first.substr(0, first.size() - 1)));
    text.remove_prefix(end + 1);
  }
  const char* const line_end = text.ends_with('\n') ? "" : "\n";
  return fmt::format(".SH {}\n.nf\n{}{}.fi\n", heading, plain(text), line_end);
}

/// Manual page in the format of man(7). `name`: "lockstep-eval"; `summary`: one line, in lower case.
std::string manual_page(const std::string& name, const std::string& summary, const CommandHelp& help) {
  std::string page = fmt::format(".TH {} 1 \"\" \"lockstep {}\" \"lockstep\"\n.SH NAME\n{} \\- {}\n",
                                 plain(upper(name)), version(), plain(name), plain(summary));
  page += fmt::format(".SH SYNOPSIS\n{}\n", plain(help.usage));
  if (!help.summary.empty()) page += fmt::format(".SH DESCRIPTION\n{}\n", plain(help.summary));
  page += section_of_lines(help.prologue);
  if (!help.arguments.empty()) page += ".SH ARGUMENTS\n";
  for (const CommandHelp::Argument& argument : help.arguments) {
    page += fmt::format(".TP\n.I {}\n{}\n", plain(argument.placeholder), plain(argument.help));
  }
  if (!help.options.empty()) page += ".SH OPTIONS\n";
  std::string heading;
  for (const CommandHelp::Option& option : help.options) {
    if (option.heading != heading) page += fmt::format(".SS {}\n", plain(option.heading));
    heading = option.heading;
    page += option.placeholder.empty()
                ? fmt::format(".TP\n.B {}\n", plain(option.flag))
                : fmt::format(".TP\n.BI {} \" {}\"\n", plain(option.flag), plain(option.placeholder));
    page += plain(option.help) + "\n";
  }
  return page + section_of_lines(help.epilogue);
}

/// All pages, by name.
std::map<std::string, std::string> pages() {
  const CommandHelp program{.usage = "lockstep COMMAND [options]; lockstep-run -np N COMMAND [options]",
                            .epilogue = "Description:\n" + program_help()};
  std::map<std::string, std::string> all{
      {program_page, manual_page(program_page, "data-parallel training with the same bits", program)}};
  for (const Command& command : commands()) {
    const std::string name = page_name(page_word(command));
    all[name] = manual_page(name, command.summary, command.describe());
  }
  return all;
}

int write_manual(const ManualOptions& options) {
  if (options.output.empty()) {
    return print_help(pages().at(options.command.empty() ? program_page : page_name(options.command)));
  }
  make_folder(options.output);
  for (const auto& [name, text] : pages()) {
    write_text_file(std::filesystem::path(options.output) / (name + ".1"), text);
  }
  return 0;
}

}  // namespace

constinit const Command man_command = command_of_one_process<ManualOptions, option_set, write_manual>(
    "man", "print the manual page of a command");

}  // namespace lockstep
