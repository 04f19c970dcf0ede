#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "lockstep/network.h"

namespace lockstep {

/// Maximum number of layers of a network file.
inline constexpr std::size_t max_layers = 4096;

/// Builds the network that a JSON text describes (docs/network-files.md) for images of shape `input` and
/// `classes` classes. Throws Error(usage) naming `origin` (the file), line and layer for every mistake. The
/// length of the text, the nesting and the number of layers are limited.
std::unique_ptr<Network> parse_network(std::string_view json, const std::string& origin, Shape input,
                                       int classes);

/// Builds the network that a file describes. Throws Error(data) if the file cannot be read.
std::unique_ptr<Network> read_network(const std::string& file, Shape input, int classes);

}  // namespace lockstep
