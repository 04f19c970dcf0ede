#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lockstep/model_file.h"
#include "run/checkpoint/checkpoint_folder.h"
#include "run/checkpoint/checkpoint_state.h"

namespace lockstep {

/// A checkpoint to be written. The tensors are spans over the caller's memory.
struct CheckpointContents {
  CheckpointState state{};
  std::vector<NamedTensor> model{};      ///< parameters and running statistics, named as in a model file
  std::vector<NamedTensor> optimizer{};  ///< "momentum.conv1.weight", "average.conv1.weight" and the like
  std::map<std::string, std::string> metadata{};  ///< of model.safetensors
};

/// A checkpoint that was read, and whose files have the sizes and hashes of MANIFEST.
struct Checkpoint {
  std::filesystem::path folder;
  CheckpointState state;
  ModelFile model;
  ModelFile optimizer;
};

/// Writes the files of a checkpoint into an empty folder, MANIFEST last. Each of them is synced to the disk
/// and read back before the next is begun. Throws Error(resource), and Error(internal) for names that are
/// repeated.
void write_checkpoint(const std::filesystem::path& path, const CheckpointContents& contents);

/// Reads a checkpoint and checks sizes and hashes of all files, and that the folder's name, if it is one of
/// checkpoint_name, is of the same step. Takes about as much memory as the files have bytes. Throws Error
/// with file and reason: data if the file is at fault, NewerFormat among them, resource if the machine or a
/// missing permission is.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// State of a checkpoint that passes the checks of read_checkpoint, except that files of tensors are not
/// parsed: their hash shows that they are as written. Takes little memory. Throws as read_checkpoint does.
CheckpointState check_checkpoint(const std::filesystem::path& path);

/// Tensors of results_of, which refer to the checkpoint.
std::vector<NamedTensor> result_tensors(const Checkpoint& checkpoint);

/// Model of a checkpoint that is evaluated and saved: the averages or, if it has none, the parameters.
ModelFile results_of(const Checkpoint& checkpoint);

}  // namespace lockstep
