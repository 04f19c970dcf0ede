#pragma once

#include <string>
#include <vector>

#include "cli/predict/input_samples.h"
#include "data/files/table_encoding.h"

namespace lockstep {

/// Reads tables that have the columns of `encoding`, and perhaps others, in any order. Their rows follow each
/// other in the order of `files`, and are called "FILE: line N". All of it is in memory. `strict`: throws
/// Error(data) for a table that cannot be read.
InputSamples read_tables(const std::vector<std::string>& files, const TableEncoding& encoding, bool strict);

}  // namespace lockstep
