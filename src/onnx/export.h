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

/// Preparation of samples that becomes a part of an exported model, as described in lockstep/input.h.
struct OnnxPreprocessing {
  bool pixels = true;  ///< whether the model takes bytes from 0 to 255; else it takes the numbers of a table
  std::vector<double> mean = {};       ///< one per channel, or one for all; empty: 0
  std::vector<double> deviation = {};  ///< one per channel, or one for all; empty: 1
};

/// Contents of an ONNX model beside the network.
struct OnnxExportOptions {
  bool fold_batch_norm =
      false;             ///< whether convolutions and linear layers take over the batch norm after them
  bool softmax = false;  ///< whether the output is probabilities instead of logits
  std::optional<OnnxPreprocessing> preprocessing = {};
  std::map<std::string, std::string> metadata = {};
};

struct OnnxExportSummary {
  std::size_t bytes = 0;
  int folded_batch_norms = 0;
  int batch_norms = 0;  ///< that were not folded
  int dropouts = 0;     ///< that were left out
};

/// Writes a network with the weights in `weights` as an ONNX model (opset 17, IR 8) for any number of
/// samples.
///
/// Input "input": float [batch, channels, rows, columns], or [batch, channels] if samples are single pixels,
/// as those of tables are. Output "logits", or "probabilities" with softmax: [batch, classes]. Batch norm is
/// that of evaluation, and dropout is left out. Initializers have the names of the parameters.
///
/// Throws Error(data) for weights that do not fit the network, Error(usage) for preprocessing that does not,
/// Error(resource) as AtomicFile does, for a model above 2 GiB, which the format does not allow, and in a
/// build without ONNX.
OnnxExportSummary export_onnx(const std::filesystem::path& file, const Network& network,
                              const ModelFile& weights, const OnnxExportOptions& options);

}  // namespace lockstep
