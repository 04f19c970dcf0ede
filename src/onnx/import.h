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
  std::optional<Shape> input = {};  ///< shape of a sample; none: that of the model
  bool weights = true;              ///< whether the values of the parameters are read, too
};

/// Network of an ONNX model.
struct OnnxImport {
  std::unique_ptr<Network> network;
  /// Values of the network's parameters, in their order; empty if they were not read.
  std::vector<std::vector<float>> weights;
  std::map<std::string, std::string> metadata;  ///< entries of the model beside the network
  std::vector<std::string> notes;  ///< parts of the model that the network lacks, a sentence each
};

/// Reads an ONNX model as PyTorch's exporters write it, with weights in the file or beside it.
///
/// Parameters are named after the initializers. First values of weights are chosen so that the model's
/// weights could be drawn from them (onnx/initial_values.h).
///
/// Throws Error(data) with file, node and reason for a damaged file and for everything that a network cannot
/// express, Error(usage) if the model does not fit `options.input`, and Error(resource) in a build without
/// ONNX.
OnnxImport import_onnx(const std::filesystem::path& file, const OnnxImportOptions& options);

/// Same for the bytes of a file, whose folder has the files that it names. Not in a build without ONNX.
OnnxImport parse_onnx(std::span<const std::byte> bytes, const std::filesystem::path& file,
                      const OnnxImportOptions& options);

/// Operators that import_onnx reads, ordered by name. Empty in a build without ONNX.
std::vector<std::string> imported_operators();

}  // namespace lockstep
