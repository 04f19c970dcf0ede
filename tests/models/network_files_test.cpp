// Compares docs/network-files.md with the options of operations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "graph/operations.h"

namespace lockstep {
namespace {

/// Row of each operation in the table of docs/network-files.md, without the name column.
std::map<std::string, std::string> documented_options() {
  std::ifstream file(LOCKSTEP_TEST_DATA "/../docs/network-files.md");
  std::map<std::string, std::string> options;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `") || line.starts_with("| `op` |")) continue;
    const std::size_t bar = line.find('|', 1);
    std::istringstream names(line.substr(1, bar - 1));
    const std::string rest = line.substr(bar + 1, line.rfind('|') - bar - 1);
    const std::size_t first = rest.find_first_not_of(' ');
    for (std::string name; names >> name;) {
      options[name.substr(1, name.size() - 2)] =
          first == std::string::npos ? "" : rest.substr(first, rest.find_last_not_of(' ') + 1 - first);
    }
  }
  return options;
}

/// Options in the table's format: "`channels`; `kernel` 1, `bias` true, `weight`".
std::string options_of(const Operation& operation) {
  std::string required, others;
  for (const FieldText& text : field_texts(operation)) {
    const OperationField& field = text.field;
    std::string& to = field.required ? required : others;
    to += fmt::format("{}`{}`", to.empty() ? "" : ", ", field.name);
    if (field.word != nullptr) to += fmt::format(", a number or `\"{}\"`", field.word);
    const bool has_value = !field.required && std::string(field.name) != "weight";
    if (has_value) to += fmt::format(" {}", field.usual_text != nullptr ? field.usual_text : text.value);
  }
  return required + (required.empty() || others.empty() ? "" : "; ") + others;
}

TEST(NetworkFiles, AreDocumented) {
  std::map<std::string, std::string> documented = documented_options();
  for (const Operation& operation : operations_of_files()) {
    const std::string name = name_of(operation);
    ASSERT_TRUE(documented.contains(name)) << "docs/network-files.md has no row for `" << name << "`";
    if (inputs_of(operation).max == 1) {
      EXPECT_EQ(documented[name], options_of(operation)) << name;
    }
    documented.erase(name);
  }
  EXPECT_TRUE(documented.empty()) << "no operation: " << documented.begin()->first;
}

}  // namespace
}  // namespace lockstep
