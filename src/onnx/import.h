#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

struct OnnxImportOptions {
  std::optional<Shape> input = {};  ///< shape of a sample; empty: the shape in the model
  bool weights = true;              ///< whether to read the values of the parameters, too
};

/// Network and other contents of an ONNX model.
struct OnnxImport {
  std::unique_ptr<Network> network;
  /// Values of the network's parameters, in their order; empty if they were not read.
  std::vector<std::vector<float>> weights;
  std::map<std::string, std::string> metadata;  ///< metadata entries of the model
  std::vector<std::string> notes;  ///< notes for the user, such as parts of the model that were left out
};

/// Reads an ONNX model as PyTorch's exporters write it, with weights in the file or in other files of its
/// folder.
///
/// Parameters are named after the initializers. The initial values of weights are set to a distribution from
/// which the model's weights may have been drawn (onnx/initial_values.h).
///
/// Throws Error(data) naming file, node and reason for a damaged file and for everything that a network
/// cannot express, Error(usage) if the model does not fit `options.input`, and Error(resource) in a build
/// without ONNX.
OnnxImport import_onnx(const std::filesystem::path& file, const OnnxImportOptions& options);

/// Same for a model whose contents are `bytes`. Other files with weights are read from the folder of `file`.
/// Not available in a build without ONNX.
OnnxImport parse_onnx(std::span<const std::byte> bytes, const std::filesystem::path& file,
                      const OnnxImportOptions& options);

/// Operators that import_onnx reads, ordered by name. Empty in a build without ONNX.
std::vector<std::string> imported_operators();

}  // namespace lockstep
