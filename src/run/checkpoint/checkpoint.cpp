#include "run/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/files/file_system.h"
#include "core/hash.h"
#include "core/text/as_text.h"
#include "core/text/printable.h"
#include "lockstep/error.h"
#include "run/checkpoint/checkpoint_folder.h"
#include "run/checkpoint/manifest.h"
#include "run/checkpoint/model_header.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;

constexpr std::uint64_t max_manifest_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t max_state_bytes = std::uint64_t{1} << 26;

/// Syncs the new file, verifies it by reading it back, and returns its entry for MANIFEST.
ManifestEntry commit(AtomicFile& output, const Path& file) {
  output.verify_and_commit();
  return {.name = file.filename().string(), .size = output.size(), .hash = output.digest().hex()};
}

ManifestEntry write_tensors(const Path& file, std::span<const NamedTensor> tensors,
                            const std::map<std::string, std::string>& metadata) {
  AtomicFile output(file);
  write_model([&](std::span<const std::byte> bytes) { output.write(bytes); }, tensors, metadata);
  return commit(output, file);
}

ManifestEntry write_text(const Path& file, std::string_view text) {
  AtomicFile output(file);
  output.write(std::as_bytes(std::span(text)));
  return commit(output, file);
}

void check_size(const Path& path, std::uint64_t bytes, std::uint64_t max_bytes) {
  if (bytes > max_bytes) {
    refuse_file(path, fmt::format("has {} bytes, more than the limit of {}", bytes, max_bytes));
  }
}

Manifest read_manifest(const CheckpointFolder& folder) {
  if (file_kind(folder.path) == FileKind::folder && file_kind(folder.manifest()) == FileKind::missing) {
    refuse_file(folder.path, "is not a whole checkpoint: it has no MANIFEST");
  }
  const InputFile file(folder.manifest());
  check_size(folder.manifest(), file.size(), max_manifest_bytes);
  return parse_manifest(as_text(file.read_all()), folder.manifest().string());
}

const ManifestEntry& entry_of(const Path& path, const Manifest& manifest) {
  const auto entry = std::ranges::find(manifest, path.filename().string(), &ManifestEntry::name);
  if (entry == manifest.end()) refuse_file(path, "is not listed in MANIFEST");
  return *entry;
}

/// Opens a file and checks its size against `entry`.
InputFile open_checked(const Path& path, const ManifestEntry& entry) {
  InputFile file(path);
  if (file.size() != entry.size) {
    refuse_file(
        path, fmt::format("is damaged: has {}, MANIFEST says {}", counted(file.size(), "byte"), entry.size));
  }
  return file;
}

void check_hash(const Path& path, const Digest& digest, const ManifestEntry& entry) {
  if (const std::string hash = digest.hex(); hash != entry.hash) {
    refuse_file(path,
                fmt::format("is damaged: its hash is xxh3:{}, MANIFEST says xxh3:{}", hash, entry.hash));
  }
}

/// Reads a file and checks its size and hash against its entry in `manifest`.
std::vector<std::byte> read_checked(const Path& path, const Manifest& manifest,
                                    std::uint64_t max_bytes = UINT64_MAX) {
  const ManifestEntry& entry = entry_of(path, manifest);
  const InputFile file = open_checked(path, entry);
  check_size(path, file.size(), max_bytes);
  std::vector<std::byte> bytes = file.read_all();
  check_hash(path, Digest(bytes), entry);
  return bytes;
}

/// Checks size and hash of a file, holding only a part of it in memory at a time.
void check_file(const Path& path, const Manifest& manifest) {
  constexpr std::uint64_t max_part = std::uint64_t{1} << 20;
  const ManifestEntry& entry = entry_of(path, manifest);
  const InputFile file = open_checked(path, entry);
  Digest digest;
  std::vector<std::byte> part;
  for (std::uint64_t at = 0; at < file.size(); at += part.size()) {
    part.resize(std::min(max_part, file.size() - at));
    file.read(at, part);
    digest.update(part);
  }
  check_hash(path, digest, entry);
}

CheckpointState read_state(const CheckpointFolder& folder, const Manifest& manifest) {
  const Path file = folder.state();
  CheckpointState state = parse_state(as_text(read_checked(file, manifest, max_state_bytes)), file.string());
  // A trailing separator would make the last name empty.
  const Path path = folder.path.has_filename() ? folder.path : folder.path.parent_path();
  const auto name = parse_checkpoint_name(path.filename().string());
  if (name && name->step != state.step) {
    refuse_file(file, fmt::format("is of step {}, but its folder is called {}", state.step,
                                  path.filename().string()));
  }
  return state;
}

ModelFile read_tensors(const Path& file, const Manifest& manifest) {
  return ModelFile::parse(read_checked(file, manifest), file.string());
}

}  // namespace

void write_checkpoint(const Path& path, const CheckpointContents& contents) {
  const CheckpointFolder folder{path};
  Manifest manifest;
  manifest.push_back(write_tensors(folder.model(), contents.model, contents.metadata));
  manifest.push_back(write_tensors(folder.optimizer(), contents.optimizer, {}));
  manifest.push_back(write_text(folder.state(), state_json(contents.state)));
  write_text(folder.manifest(), manifest_text(manifest));
}

Checkpoint read_checkpoint(const Path& path) {
  return with_permission_advice([&] {
    const CheckpointFolder folder{path};
    const Manifest manifest = read_manifest(folder);
    return Checkpoint{.folder = path,
                      .state = read_state(folder, manifest),
                      .model = read_tensors(folder.model(), manifest),
                      .optimizer = read_tensors(folder.optimizer(), manifest)};
  });
}

CheckpointState check_checkpoint(const Path& path) {
  return with_permission_advice([&] {
    const CheckpointFolder folder{path};
    const Manifest manifest = read_manifest(folder);
    CheckpointState state = read_state(folder, manifest);
    check_file(folder.model(), manifest);
    check_file(folder.optimizer(), manifest);
    return state;
  });
}

std::vector<NamedTensor> result_tensors(const Checkpoint& checkpoint) {
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& tensor : checkpoint.model.tensors()) {
    if (tensor.dtype == "I64") {  // a number of batches, which has no average
      const std::span<const std::byte> bytes = checkpoint.model.bytes(tensor);
      tensors.push_back({tensor.name, tensor.shape,
                         std::span(reinterpret_cast<const std::int64_t*>(bytes.data()),
                                   bytes.size() / sizeof(std::int64_t))});
    }
    if (tensor.dtype != "F32") continue;
    const std::string average = "average." + tensor.name;
    const bool averaged = std::ranges::find(checkpoint.optimizer.tensors(), average, &TensorInfo::name) !=
                          checkpoint.optimizer.tensors().end();
    tensors.push_back({tensor.name, tensor.shape,
                       averaged ? checkpoint.optimizer.floats(average, tensor.shape)
                                : checkpoint.model.floats(tensor.name, tensor.shape)});
  }
  return tensors;
}

ModelFile results_of(const Checkpoint& checkpoint) {
  const std::vector<NamedTensor> tensors = result_tensors(checkpoint);
  std::vector<std::byte> bytes;
  write_model([&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); },
              tensors, checkpoint.model.metadata());
  return ModelFile::parse(std::move(bytes), checkpoint.model.origin());
}

}  // namespace lockstep
