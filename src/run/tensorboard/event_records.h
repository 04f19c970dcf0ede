#pragma once

#include <string>

#include "run/tensorboard/summary.h"

/// Records of TensorBoard's event files: a message of event.proto each, framed as in a TFRecord file.
namespace lockstep::tensorboard {

/// Throws Error(resource) with the reason in a build that cannot write event files. Names the option
/// tensorboard.
void check_available();

/// Appends the records with which a file begins: the version of the format, and the start of a session at
/// step 0, by which TensorBoard drops what it has read from earlier files of the folder. Time in seconds
/// since 1970. Throws as check_available does.
void append_start(std::string& bytes, double wall_time);

/// Appends the record of a summary; nothing if it has no values. Throws likewise.
void append_record(std::string& bytes, const Summary& summary, double wall_time);

}  // namespace lockstep::tensorboard
