#include <fmt/format.h>

#include <cctype>

#include "cli/options/command_help.h"
#include "core/version.h"

namespace lockstep {
namespace {

/// Text in which man sees no command: backslashes, dashes that are to be copied, and points and apostrophes
/// at the start of a line have another meaning there.
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

/// A section with lines as they are. A first line such as "Examples:" becomes its heading.
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

}  // namespace

std::string manual_page(const std::string& name, const std::string& summary, const CommandHelp& help) {
  std::string page = fmt::format(".TH {} 1 \"\" \"lockstep {}\" \"lockstep\"\n.SH NAME\n{} \\- {}\n",
                                 plain(upper(name)), version(), plain(name), plain(summary));
  page += fmt::format(".SH SYNOPSIS\n{}\n", plain(help.usage));
  if (!help.summary.empty()) page += fmt::format(".SH DESCRIPTION\n{}\n", plain(help.summary));
  page += section_of_lines(help.prologue);
  if (!help.arguments.empty()) page += ".SH ARGUMENTS\n";
  for (const auto& [placeholder, explanation] : help.arguments) {
    page += fmt::format(".TP\n.I {}\n{}\n", plain(placeholder), plain(explanation));
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

}  // namespace lockstep
