#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// Builds a model for images of shape `input` and `classes` classes. `name`: one of model_names(),
/// "mlp:256,128" with hidden layers of any widths, or a network file FILE.json (docs/network-files.md).
/// Throws Error(usage) for an unknown name (naming the nearest), mistakes in the file or images that do not
/// fit, Error(data) for a file that cannot be read.
std::unique_ptr<Network> make_model(const std::string& name, Shape input, int classes);
/// Throws the error of make_model for an unknown name.
void check_model_name(const std::string& name);
std::vector<std::string> model_names();
/// Whether `name` names a network file.
bool names_network_file(const std::string& name);

/// Text of a network file from which make_model builds a network with the same layers, parameters and initial
/// values, for any number of classes if a linear layer computes the logits. Throws Error(usage) for a network
/// that a file cannot describe: one without an output, with a layer that nothing reads or that is called
/// "input", or with a parameter whose name is not printable or longer than 100 bytes.
std::string network_json(const Network& network);

}  // namespace lockstep
