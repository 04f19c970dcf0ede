#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/files/table_encoding.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Rows of tables to be predicted, and the files that cannot be read, with their reasons.
struct InputTables {
  std::unique_ptr<Dataset> rows;
  std::vector<std::string> unreadable;
};

/// Reads tables that have the columns of `encoding`, and perhaps others, in any order. Their rows follow each
/// other in the order of `files`, and are called "FILE: line N". All of it is in memory.
InputTables read_tables(const std::vector<std::string>& files, const TableEncoding& encoding);

}  // namespace lockstep
