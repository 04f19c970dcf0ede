#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "lockstep/dataset.h"

namespace lockstep {

/// Purpose for which samples are opened. Training requires several classes, and a test or validation part.
/// When measuring, a test part that exists is used even if a test fraction is given, because the fraction may
/// be the one with which the model was trained.
enum class DataUse { training, measuring };

/// Part of a data set. Folders and files are named after parts, see names_of.
enum class Part { train, validation, test };
inline constexpr std::array all_parts = {Part::train, Part::validation, Part::test};

/// A value for each part of a data set, such as its file. An empty value stands for a missing part.
template <class T>
struct Parts {
  T train;
  T validation = {};
  T test = {};
};

/// Names of a part: "train"; "validation", "valid" and "val"; "test". The first name of a part is used for
/// files that this program writes, and in messages.
std::span<const std::string_view> names_of(Part part);

/// Advice at the end of a message about a folder with the name of a part, which may be meant as a class;
/// empty for other names.
std::string class_name_advice(const std::filesystem::path& folder);

/// Throws Error(data) saying that two entries of `folder` would be the same part.
[[noreturn]] void fail_two_parts(const std::filesystem::path& folder, const std::filesystem::path& one,
                                 const std::filesystem::path& other);

/// Finds the part's folder or, with an `extension` (".csv"), the part's file in `folder`, by the names of the
/// part. Returns an empty path if there is none. Throws Error(data) if there are two.
std::filesystem::path find_part(const std::filesystem::path& folder, Part part,
                                std::string_view extension = {});

/// Share of samples to hold out for testing: `fraction`, or 0 for measuring if there is a test part. `test`
/// is the path of the test part, or empty. Throws Error(usage) for training with a test part and a fraction.
double test_share(const std::filesystem::path& test, double fraction, DataUse use);

/// Advice at the end of the message that a test fraction leaves no samples to test; empty unless measuring.
std::string without_test_advice(DataUse use);

/// Value of DatasetPair::test_origin for a test part that was held out.
std::string origin_of_fraction(double fraction);

/// Completes the parts for which there are files. Without a test part, the validation part becomes the test
/// part. Without a validation part but with a validation fraction, holds out training samples for validation.
/// Throws Error(usage) for training with both a validation fraction and a validation part, and the errors of
/// hold_out_validation.
void complete_parts(DatasetPair& pair, const DatasetOptions& options, DataUse use);

}  // namespace lockstep
