#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

/// The first `classes` names of `names`; a missing name is replaced by the number of its class.
Names names_or_numbers(Names names, int classes);
/// Same for the class names of a data set.
Names names_of_classes(const Dataset& dataset, int classes);

/// Warning about names of two classes, or labels, that are equal as numbers or differ only in case; empty:
/// there are none.
std::string similar_classes_text(const Dataset& dataset);

/// Number of samples of each class, or with each label. Not for Task::regression.
std::vector<std::uint64_t> count_classes(const Dataset& dataset);

/// "cat 20, dog 17": samples of each class, in lines of at most 100 columns (except for long names) that
/// begin with `indent` spaces.
std::string class_counts_text(const std::vector<std::string>& names, const std::vector<std::uint64_t>& counts,
                              std::size_t indent);

/// Label column of a table: "labels: column 'kind'", with advice if it is the last column only because no
/// option names another. `dataset` must be a table.
std::string label_column_text(const Dataset& dataset, const DatasetOptions& options);
/// Whether the labels of a table are in the last column only because no option names another.
bool has_default_label_column(const Dataset& dataset, const DatasetOptions& options);

}  // namespace lockstep
