#pragma once

#include <string>

/// Texts about the program.
namespace lockstep {

/// Text of `lockstep help`: how to start the program, and its commands.
std::string program_help();

/// Text for `lockstep` without arguments: the three likeliest next commands.
std::string greeting();

/// Text of --version. The first line is "lockstep VERSION".
std::string version_text();

}  // namespace lockstep
