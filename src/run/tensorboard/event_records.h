#pragma once

#include <string>

#include "run/tensorboard/summary.h"

/// Records of TensorBoard's event files: each is a message of event.proto, framed as in a TFRecord file.
namespace lockstep::tensorboard {

/// Throws Error(resource) with the reason if this build cannot write event files. The error's field is the
/// option `tensorboard`.
void check_available();

/// Appends the records with which a file begins: the version of the format, and the start of a session at
/// step 0, which makes TensorBoard drop what it has read from earlier files of the folder. `wall_time`:
/// seconds since 1970. Throws as check_available does.
void append_start(std::string& bytes, double wall_time);

/// Appends the record of a summary; nothing if the summary has no values. Throws as check_available does.
void append_record(std::string& bytes, const Summary& summary, double wall_time);

}  // namespace lockstep::tensorboard
