#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace lockstep {

/// Header entry of a tensor in the safetensors format (https://github.com/huggingface/safetensors), which
/// safetensors.torch.load_file reads.
struct TensorInfo {
  std::string name;
  std::string dtype;  ///< "F32", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< byte range in the data section
  std::uint64_t end = 0;
};

/// Contents of a model file. All of it has been checked: header length and JSON within bounds, names unique,
/// byte ranges without gap or overlap, sizes equal to shape times element size, file length exact.
class ModelFile {
 public:
  /// Reads `file`. Throws Error(data) with file, offset or tensor, and reason.
  static ModelFile read(const std::filesystem::path& file);

  /// Parses `bytes`, the contents of a whole file, and takes ownership of them. `origin` names the file in
  /// errors. Throws as read() does.
  static ModelFile parse(std::vector<std::byte> bytes, const std::string& origin);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  ///< in order of their data
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& origin() const { return origin_; }
  /// Values of the tensor `name`, whose type must satisfy holds_floats; valid as long as this object. Throws
  /// Error(data) if the tensor is missing or has another type or shape.
  std::span<const float> floats(const std::string& name, std::span<const std::int64_t> shape) const;
  /// Bytes of `tensor`, one of tensors(); valid as long as this object.
  std::span<const std::byte> bytes(const TensorInfo& tensor) const;

 private:
  std::string origin_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::byte> storage_;
  std::size_t data_begin_ = 0;
  std::map<std::string, std::vector<float>> converted_;  ///< values of F16 and BF16 tensors, by name
};

/// Whether ModelFile::floats reads tensors of this type: F32, and F16 and BF16, which are converted exactly.
bool holds_floats(const TensorInfo& tensor);

/// Tensor to be written. Refers to the caller's memory.
struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::variant<std::span<const float>, std::span<const std::int64_t>> values;  ///< F32 or I64

  std::span<const std::byte> bytes() const {
    return std::visit([](const auto& span) { return std::as_bytes(span); }, values);
  }
};

/// Name of the metadata entry that holds the metadata_digest of the other entries.
inline constexpr const char* metadata_digest_name = "metadata_digest";

/// Digest of all entries but metadata_digest_name: "xxh3:" and the XXH3-128 of their names and texts, each
/// followed by a zero byte, in the order of the names' bytes.
std::string metadata_digest(const std::map<std::string, std::string>& metadata);

/// Writes the tensors, in this order, to a new file next to `file`, syncs it and renames it to `file`:
/// readers see either the old file or the new one. Adds the entry metadata_digest_name unless `metadata` is
/// empty. Throws Error(resource) with the system's reason (no space, not writable), and Error(usage) for
/// metadata or names that are not UTF-8, a reserved or repeated name, and a shape that does not fit the
/// values.
void write_model_file(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata);

/// Throws the errors of write_model_file that can be detected before writing. Leaves no file behind.
void check_model_file_writable(const std::filesystem::path& file);

}  // namespace lockstep
