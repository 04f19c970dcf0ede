#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/files/csv.h"
#include "lockstep/field.h"

namespace lockstep {

/// Table of images with any number of labels each.
struct LabelTable {
  std::string file = {};
  std::vector<std::string> labels = {};
  char separator = '\0';                 ///< of the names in a column of names; 0: a column per label
  std::vector<std::string> images = {};  ///< [row], as written
  std::vector<std::size_t> lines = {};   ///< [row]
  std::vector<float> targets = {};       ///< [row][label]: 1 if it applies, else 0
};

/// Reads a table with a header, without the columns `drop_columns`. The first column names images. The others
/// are either labels, with 0 or 1 in each row; or a single column with the names of the labels that apply, or
/// nothing, separated by the first of | ; , that occurs in the column, else by spaces: the labels are then in
/// ascending order of their names. With `train`, the table has the labels and the form of this one.
///
/// Throws Error(data) as read_csv_header and next_csv_row; with the line for a cell that is neither 0 nor 1,
/// a row without image, a name of a label that is empty or unknown, and texts that are not UTF-8; for other
/// columns than `train` has, no rows, a single label, and labels that apply to no row; and for an unknown
/// column to drop.
LabelTable read_label_table(CsvReader& reader, const Names& drop_columns = {},
                            const LabelTable* train = nullptr);

}  // namespace lockstep
