#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "lockstep/dataset.h"

namespace lockstep {

/// Purpose of opening samples. Training needs several classes, and a part to test with. For measuring, a part
/// that exists is used even if a fraction is given, as the fraction may be that of the model's training.
enum class DataUse { training, measuring };

/// Parts of a data set, as folders and files are named after them.
enum class Part { train, validation, test };
inline constexpr std::array all_parts = {Part::train, Part::validation, Part::test};

/// A value for each part of a data set, such as its file; empty: there is no such part.
template <class T>
struct Parts {
  T train;
  T validation = {};
  T test = {};
};

/// Names of a part: "train"; "validation", "valid" and "val"; "test". The first is used in files that this
/// program writes, and in messages.
std::span<const std::string_view> names_of(Part part);

/// End of a message about a folder that may be a class with the name of a part; empty: it has another name.
std::string class_name_advice(const std::filesystem::path& folder);

/// Throws Error(data) for two entries of `folder` that would be the same part.
[[noreturn]] void fail_two_parts(const std::filesystem::path& folder, const std::filesystem::path& one,
                                 const std::filesystem::path& other);

/// The folder, or with an `extension` (".csv") the file, in `folder` with a name of the part. Empty: there is
/// none. Throws Error(data) for two of them.
std::filesystem::path find_part(const std::filesystem::path& folder, Part part,
                                std::string_view extension = {});

/// The share of samples to hold out for testing: `fraction` or, for measuring beside a test part at `test`
/// (empty: there is none), 0. Throws Error(usage) for training with both.
double test_share(const std::filesystem::path& test, double fraction, DataUse use);

/// End of a message that a test fraction leaves no samples to test: advice for measuring, otherwise empty.
std::string without_test_advice(DataUse use);

/// Test origin of a pair whose test part was held out.
std::string origin_of_fraction(double fraction);

/// Completes the parts that files have: without a test part, the validation part becomes it; with a
/// validation fraction, training samples are held out. Throws Error(usage) for training with a validation
/// fraction beside a validation part, and what hold_out_validation throws.
void complete_parts(DatasetPair& pair, const DatasetOptions& options, DataUse use);

}  // namespace lockstep
