// Keeps the record of launcher/gpu-check.sh: each call changes one thing in it, and leaves a complete record.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lockstep/error.h"
#include "record/record.h"

namespace lockstep::check {
namespace {

constexpr const char* help =
    "usage: lockstep-record FILE.json ACTION ...\n"
    "Changes the record of a check of a machine, and writes it to FILE.json and, to read, to FILE.md.\n"
    "  begin TARGETS                       a call of the check begins; TARGETS: file of "
    "name|limit|unit|meaning\n"
    "  fact NAME VALUE                     about the machine\n"
    "  figure NAME VALUE [UNIT]            a measurement\n"
    "  quotient NAME OVER UNDER            of two figures, if both were measured\n"
    "  stage NAME                          begins: it is unfinished\n"
    "  case NAME RESULT SECONDS [REASON]   of the stage; passed, failed or skipped\n"
    "  end RESULT SECONDS [REASON]         of the stage\n"
    "  get NAME                            prints a fact or a figure; changes nothing\n";

using Arguments = std::vector<std::string>;

/// Contents of a file. Throws Error(resource).
std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Category::resource, "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%FT%TZ", std::gmtime(&seconds));
  return text.data();
}

struct Action {
  const char* name;
  std::size_t needed;   ///< arguments that must be given
  std::size_t allowed;  ///< arguments that may be given; those left out are empty
  void (*act)(Record& record, const Arguments& given);
};

constexpr std::array actions = {
    Action{"begin", 1, 1,
           [](Record& record, const Arguments& given) { record.begin(now(), contents_of(given[0])); }},
    Action{"fact", 2, 2, [](Record& record, const Arguments& given) { record.set_fact(given[0], given[1]); }},
    Action{"figure", 2, 3,
           [](Record& record, const Arguments& given) { record.set_figure(given[0], given[1], given[2]); }},
    Action{"quotient", 3, 3,
           [](Record& record, const Arguments& given) { record.set_quotient(given[0], given[1], given[2]); }},
    Action{"stage", 1, 1, [](Record& record, const Arguments& given) { record.begin_stage(given[0]); }},
    Action{"case", 3, 4,
           [](Record& record, const Arguments& given) {
             record.add_case(given[0], given[1], given[2], given[3]);
           }},
    Action{"end", 2, 3,
           [](Record& record, const Arguments& given) { record.end_stage(given[0], given[1], given[2]); }},
};

void print_value(const Record& record, const std::string& name) {
  if (const auto value = record.find(name)) std::printf("%s\n", value->c_str());
}

void change(const std::filesystem::path& file, Record& record, const std::string& name, Arguments given) {
  const auto* action = std::ranges::find_if(actions, [&](const Action& one) { return one.name == name; });
  if (action == actions.end() || given.size() < action->needed || given.size() > action->allowed) {
    throw Error(Category::usage, "'" + name + "' with " + std::to_string(given.size()) +
                                     " arguments is no action; see lockstep-record --help");
  }
  given.resize(action->allowed);
  action->act(record, given);
  using Json = nlohmann::ordered_json;
  replace_file(file, record.json().dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  replace_file(std::filesystem::path(file).replace_extension(".md"), page_of(record));
}

int run(const Arguments& arguments) {
  if (arguments.size() < 2) {
    const bool asked = arguments.size() == 1 && arguments[0] == "--help";
    std::fputs(help, asked ? stdout : stderr);
    return asked ? 0 : static_cast<int>(Category::usage);
  }
  Record record = Record::read(arguments[0]);
  const Arguments given(arguments.begin() + 2, arguments.end());
  if (arguments[1] == "get" && given.size() == 1) {
    print_value(record, given[0]);
  } else {
    change(arguments[0], record, arguments[1], given);
  }
  return 0;
}

}  // namespace
}  // namespace lockstep::check

int main(int argc, char** argv) {
  using namespace lockstep;
  try {
    return check::run({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "lockstep-record: error: %s\n", error.what());
    return error.exit_status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep-record: error: %s\n", error.what());
    return static_cast<int>(Category::internal);
  }
}
