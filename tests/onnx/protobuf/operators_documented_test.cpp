// Compares docs/onnx.md with the operators that the importer supports.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "onnx/import.h"

namespace lockstep {
namespace {

/// Names in the first column of the table of operators.
std::set<std::string> documented_operators() {
  std::ifstream file(LOCKSTEP_TEST_DATA "/../docs/onnx.md");
  std::set<std::string> names;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| operator |")) in_table = true;
    if (!line.starts_with("|")) in_table = false;
    if (!in_table) continue;
    std::istringstream cell(line.substr(1, line.find('|', 1) - 1));
    for (std::string word; cell >> word;) {
      if (word.starts_with('`')) names.insert(word.substr(1, word.find('`', 1) - 1));
    }
  }
  return names;
}

TEST(ImportedOperators, AreDocumented) {
  const std::vector<std::string> read = imported_operators();
  EXPECT_EQ(documented_operators(), std::set<std::string>(read.begin(), read.end()));
}

}  // namespace
}  // namespace lockstep
