#include "lockstep/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "core/bfloat16.h"
#include "core/files/atomic_file.h"
#include "core/files/content.h"
#include "core/files/file.h"
#include "core/hash.h"
#include "core/text/as_text.h"
#include "core/text/printable.h"
#include "lockstep/error.h"
#include "run/checkpoint/model_header.h"

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian");

constexpr std::uint64_t max_header = 100000000;  // the reference reader's limit

/// Throws Error(data) with the kind of the file if its first bytes show that it is not a model file.
void check_kind(std::span<const std::byte> file, const std::string& origin) {
  const std::string kind = content_kind(file);
  if (kind.empty()) return;
  const bool is_torch = kind == "a file of torch.save";
  throw Error(Category::data,
              fmt::format("{}: {}, not {}", origin, kind,
                          is_torch ? "in the safetensors format: write it with safetensors.torch.save_file"
                                   : "a model file (safetensors)"));
}

/// Length of the header, checked against the length of the file.
std::size_t header_length(std::span<const std::byte> file, const std::string& origin) {
  if (file.size() < header_begin) {
    check_kind(file, origin);
    throw Error(Category::data, fmt::format("{}: too short for a safetensors file: {}", origin,
                                            counted(file.size(), "byte")));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > max_header) check_kind(file, origin);
  if (length > max_header || length > file.size() - header_begin) {
    throw Error(
        Category::data,
        fmt::format("{}: no model file (safetensors): header length {} at byte 0 exceeds {}", origin, length,
                    length > max_header ? fmt::format("the limit of {} bytes", max_header)
                                        : fmt::format("the file's {} bytes", file.size())));
  }
  return static_cast<std::size_t>(length);
}

/// Value of an IEEE half: 5 bits of exponent, 10 of mantissa.
float from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU, mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24F;  // exact, even for subnormal numbers
    return sign == 0 ? value : -value;
  }
  const std::uint32_t of_float = exponent == 0x1fU ? 0xffU : exponent + (127U - 15U);
  return std::bit_cast<float>(sign | (of_float << 23U) | (mantissa << 13U));
}

/// Values of a tensor of type F16 or BF16, whose data need not be aligned.
std::vector<float> widened(std::span<const std::byte> bytes, bool is_half) {
  std::vector<float> values(bytes.size() / sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof(bits), sizeof(bits));
    values[i] = is_half ? from_half(bits) : to_float(Bfloat16{bits});
  }
  return values;
}

}  // namespace

bool holds_floats(const TensorInfo& tensor) {
  return tensor.dtype == "F32" || tensor.dtype == "F16" || tensor.dtype == "BF16";
}

ModelFile ModelFile::read(const std::filesystem::path& file) { return parse(read_file(file), file.string()); }

ModelFile ModelFile::parse(std::vector<std::byte> bytes, const std::string& origin) {
  const std::size_t length = header_length(bytes, origin);
  const std::string_view json = as_text(bytes).substr(header_begin, length);
  ModelHeader header = parse_model_header(json, bytes.size() - header_begin - length, origin);

  ModelFile model;
  model.origin_ = origin;
  model.tensors_ = std::move(header.tensors);
  model.metadata_ = std::move(header.metadata);
  model.storage_ = std::move(bytes);
  model.data_begin_ = header_begin + length;
  if (model.data_begin_ % alignof(double) != 0) {  // the writer did not pad the header
    model.storage_.erase(model.storage_.begin(),
                         model.storage_.begin() + static_cast<std::ptrdiff_t>(model.data_begin_));
    model.data_begin_ = 0;
  }
  for (const TensorInfo& tensor : model.tensors_) {
    if (!holds_floats(tensor) || tensor.dtype == "F32") continue;
    model.converted_[tensor.name] = widened(model.bytes(tensor), tensor.dtype == "F16");
  }
  return model;
}

std::span<const float> ModelFile::floats(const std::string& name, std::span<const std::int64_t> shape) const {
  const auto tensor = std::ranges::find(tensors_, name, &TensorInfo::name);
  if (tensor == tensors_.end()) {
    throw Error(Category::data, fmt::format("{}: no tensor '{}'", origin_, name));
  }
  if (!holds_floats(*tensor) || !std::ranges::equal(tensor->shape, shape)) {
    throw Error(Category::data,
                fmt::format("{}: tensor '{}' is {} [{}], F32 [{}] is needed{}", origin_, name, tensor->dtype,
                            fmt::join(tensor->shape, ", "), fmt::join(shape, ", "),
                            tensor->dtype == "F64" ? ": write it with .float()" : ""));
  }
  if (const auto found = converted_.find(name); found != converted_.end()) return found->second;
  if (tensor->begin % alignof(float) != 0) {
    throw Error(Category::data, fmt::format("{}: tensor '{}': data begin at byte {}, not a multiple of {}",
                                            origin_, name, tensor->begin, alignof(float)));
  }
  const std::span<const std::byte> values = bytes(*tensor);
  return {reinterpret_cast<const float*>(values.data()), values.size() / sizeof(float)};
}

std::span<const std::byte> ModelFile::bytes(const TensorInfo& tensor) const {
  return std::span(storage_).subspan(data_begin_ + tensor.begin, tensor.end - tensor.begin);
}

std::string metadata_digest(const std::map<std::string, std::string>& metadata) {
  Digest digest;
  for (const auto& [name, text] : metadata) {
    if (name == metadata_digest_name) continue;
    for (const std::string* part : {&name, &text}) {  // each with its terminating zero byte
      digest.update(std::as_bytes(std::span(part->c_str(), part->size() + 1)));
    }
  }
  return "xxh3:" + digest.hex();
}

void write_model_file(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::map<std::string, std::string> all = metadata;
  if (!all.empty()) all[metadata_digest_name] = metadata_digest(metadata);
  AtomicFile output(file);
  write_model([&](std::span<const std::byte> bytes) { output.write(bytes); }, tensors, all);
  output.commit();
}

void check_model_file_writable(const std::filesystem::path& file) { const AtomicFile probe(file); }

}  // namespace lockstep
