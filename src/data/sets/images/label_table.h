#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/files/csv.h"
#include "data/files/csv_table.h"
#include "lockstep/field.h"

namespace lockstep {

/// Table of images with any number of labels each, or with a class each.
struct LabelTable {
  std::string file = {};
  std::string image_column = {};         ///< name of the column that names the images
  std::vector<std::string> labels = {};  ///< or classes
  char separator = '\0';                 ///< of the names in a column of names; 0: a column per label
  std::vector<std::string> images = {};  ///< [row], as written
  std::vector<std::size_t> lines = {};   ///< [row]
  std::vector<float> targets = {};       ///< [row][label]: 1 if it applies, else 0; empty: classes
  std::vector<int> classes = {};         ///< [row]: position in `labels`; empty: any number of labels
};

/// Reads a table with a header, without the columns `drop_columns`. Images are named by the first
/// column whose first row is the name of an image file; if none is, by the first column. The others
/// are either labels, with 0 or 1 in each row; or a single column with the names of the labels that apply, or
/// nothing, separated by the first of | ; , that occurs in the column, else by spaces: the labels are then in
/// ascending order of their names. With `train`, the table has the labels and the form of this one.
///
/// Throws Error(data) as read_csv_header and next_csv_row; with the line for a cell that is neither 0 nor 1,
/// a row without image, a name of a label that is empty or unknown, and texts that are not UTF-8; for other
/// columns than `train` has, no rows, and a column of names without any; and for an unknown column to drop.
LabelTable read_label_table(CsvReader& reader, const Names& drop_columns = {},
                            const LabelTable* train = nullptr);

/// Throws Error(data) naming the table if it has a single label, or if its labels apply to no row.
void check_several_labels(const LabelTable& table);

/// Reads a table of images with a class each: in the column that the options name, else in that called
/// "label", else in the only one beside the names of the images, which are found as read_label_table does.
/// Other columns are ignored. Classes are in ascending order of their names; with `train`, they are those of
/// this table.
///
/// Throws as read_label_table; Error(usage) if no option says which column has the classes; Error(data) for
/// an unknown column of classes, and for a class that is empty, unknown or has control characters.
LabelTable read_class_table(CsvReader& reader, const CsvOptions& options = {},
                            const LabelTable* train = nullptr);

}  // namespace lockstep
