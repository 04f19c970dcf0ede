#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "lockstep/field.h"
#include "lockstep/model_description.h"
#include "lockstep/model_file.h"
#include "run/checkpoint/checkpoint.h"

namespace lockstep {

struct InspectedTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t values = 0;
};
LOCKSTEP_MEMBERS(InspectedTensor, name, dtype, shape, values)

/// Digest of parameters; `digest_order` is "network" if the network is named or described, else "file".
struct InspectedDigest {
  std::string digest;
  std::string digest_order;
};
LOCKSTEP_MEMBERS(InspectedDigest, digest, digest_order)

struct InspectedFile {
  std::vector<InspectedTensor> tensors;
  InspectedDigest digest;
  Facts metadata;
  ModelDescription description;  ///< description in `metadata`, for the text
};

template <OptionsOf<InspectedFile> O, class Visitor>
void visit(O& file, Visitor&& field) {
  [[maybe_unused]] auto& [tensors, digest, metadata, description] = file;
  field(tensors, {.name = "tensors"});
  visit(digest, field);
  field(metadata, {.name = "metadata"});
}

struct InspectedCheckpoint {
  std::string folder;
  CheckpointState state;
  InspectedDigest digest;
  std::vector<InspectedTensor> model;
  std::vector<InspectedTensor> optimizer;
  Facts metadata;                ///< metadata of the model
  ModelDescription description;  ///< description in `metadata`, for the text
};

template <OptionsOf<InspectedCheckpoint> O, class Visitor>
void visit(O& checkpoint, Visitor&& field) {
  [[maybe_unused]] auto& [folder, state, digest, model, optimizer, metadata, description] = checkpoint;
  field(folder, {.name = "checkpoint"});
  visit(state, field);
  visit(digest, field);
  field(model, {.name = "model"});
  field(optimizer, {.name = "optimizer"});
  field(metadata, {.name = "metadata"});
}

/// Result of verifying a model file or a checkpoint: all bytes are read; a checkpoint is compared with its
/// MANIFEST.
struct Verified {
  std::string path;
  std::string problem = {};                ///< empty: no problem
  std::optional<std::uint64_t> step = {};  ///< step of a checkpoint without a problem
  std::size_t model_tensors = 0;
  std::size_t optimizer_tensors = 0;
  bool has_digest = false;  ///< whether a model file has a digest of its parameters, which was then compared
};
LOCKSTEP_MEMBERS(Verified, path, problem, step, model_tensors, optimizer_tensors, has_digest)

struct VerifiedFiles {
  std::vector<Verified> verified;
};
LOCKSTEP_MEMBERS(VerifiedFiles, verified)

std::vector<InspectedTensor> tensors_of(const ModelFile& file);

std::string text_of(const InspectedFile& file);
std::string text_of(const InspectedCheckpoint& checkpoint);
std::string text_of(const Verified& verified);

}  // namespace lockstep
