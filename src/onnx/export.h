#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/model_file.h"
#include "lockstep/network.h"

namespace lockstep {

/// Preprocessing of samples (see lockstep/input.h) to include in an exported model.
struct OnnxPreprocessing {
  bool pixels = true;  ///< whether the model's input is bytes from 0 to 255; false: numbers of a table
  std::vector<double> mean = {};       ///< one per channel, or one for all; empty: 0
  std::vector<double> deviation = {};  ///< one per channel, or one for all; empty: 1
};

/// Contents of an exported ONNX model in addition to the network.
struct OnnxExportOptions {
  bool fold_batch_norm =
      false;             ///< whether batch norm is folded into the convolution or linear layer before it
  bool softmax = false;  ///< whether the output is probabilities instead of logits
  std::optional<OnnxPreprocessing> preprocessing = {};
  std::map<std::string, std::string> metadata = {};
};

struct OnnxExportSummary {
  std::size_t bytes = 0;
  int folded_batch_norms = 0;
  int batch_norms = 0;  ///< batch norms that were not folded
  int dropouts = 0;     ///< dropouts that were left out
};

/// Writes a network with the weights in `weights` as an ONNX model (opset 17, IR 8) for any number of
/// samples.
///
/// The input "input" is [batch, channels, rows, columns], or [batch, channels] if samples are single pixels,
/// such as rows of tables; its elements are floats, or bytes with preprocessing of pixels. The output
/// "logits" (with softmax, "probabilities") is [batch, classes]. Batch norm is exported as in evaluation, and
/// dropout is left out. Initializers have the names of the parameters.
///
/// Throws Error(data) for weights and Error(usage) for preprocessing that do not fit the network;
/// Error(resource) like AtomicFile, for a model above 2 GiB, the limit of the format, and in a build without
/// ONNX.
OnnxExportSummary export_onnx(const std::filesystem::path& file, const Network& network,
                              const ModelFile& weights, const OnnxExportOptions& options);

}  // namespace lockstep
