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
  std::map<std::string, std::string> metadata{};  ///< metadata of model.safetensors
};

/// A checkpoint that was read; its files have the sizes and hashes listed in MANIFEST.
struct Checkpoint {
  std::filesystem::path folder;
  CheckpointState state;
  ModelFile model;
  ModelFile optimizer;
};

/// Writes the files of a checkpoint into the empty folder `path`, MANIFEST last. Each file is synced to the
/// disk and read back before the next one is begun. Throws Error(resource), Error(usage) for tensors as
/// write_model does, and Error(internal) as state_json does.
void write_checkpoint(const std::filesystem::path& path, const CheckpointContents& contents);

/// Reads a checkpoint. Checks the sizes and hashes of all files and, if the folder is named like a
/// checkpoint, that its name has the same step. Uses about as much memory as the files have bytes. Throws
/// Error with file and reason: data, including NewerFormat, if the file is at fault; resource if the machine
/// or a missing permission is.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Checks a checkpoint as read_checkpoint does and returns its state, but does not parse the files of
/// tensors: their hashes show that they are as written. Uses little memory. Throws as read_checkpoint does.
CheckpointState check_checkpoint(const std::filesystem::path& path);

/// Tensors of results_of, as spans over the memory of `checkpoint`.
std::vector<NamedTensor> result_tensors(const Checkpoint& checkpoint);

/// The model to evaluate and save from a checkpoint: the averages or, if it has none, the parameters.
ModelFile results_of(const Checkpoint& checkpoint);

}  // namespace lockstep
