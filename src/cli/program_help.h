#pragma once

#include <string>

/// Texts about the program as a whole.
namespace lockstep {

/// Text of `lockstep help`: how to start the program, and its commands.
std::string program_help();

/// Text for a person who types `lockstep` alone: the three likeliest next commands.
std::string greeting();

/// Text of --version. The first line is "lockstep VERSION".
std::string version_text();

}  // namespace lockstep
