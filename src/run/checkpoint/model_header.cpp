#include "run/checkpoint/model_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "core/json/json.h"
#include "core/json/members.h"
#include "core/text/printable.h"
#include "core/text/utf8.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::string_view metadata_name = "__metadata__";

struct ElementType {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<ElementType, 15> element_types = {{{"BOOL", 1},
                                                        {"U8", 1},
                                                        {"I8", 1},
                                                        {"F8_E5M2", 1},
                                                        {"F8_E4M3", 1},
                                                        {"U16", 2},
                                                        {"I16", 2},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"U32", 4},
                                                        {"I32", 4},
                                                        {"F32", 4},
                                                        {"U64", 8},
                                                        {"I64", 8},
                                                        {"F64", 8}}};

/// Entry of a tensor in the header.
struct TensorEntry {
  std::string dtype{};
  std::vector<std::int64_t> shape{};
  std::vector<std::uint64_t> data_offsets{};  ///< first byte, and one past the last
};
LOCKSTEP_MEMBERS(TensorEntry, dtype, shape, data_offsets)

[[noreturn]] void fail(const std::string& origin, const TensorInfo& tensor, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: tensor '{}': {}", origin, printable(tensor.name), what));
}

/// Number of bytes of the tensor; nullopt if it does not fit 64 bits.
std::optional<std::uint64_t> bytes_of(const TensorInfo& tensor, std::uint64_t element_bytes) {
  std::uint64_t bytes = element_bytes;
  // A zero makes the product zero, even if the other factors overflow.
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) {
    return 0;
  }
  for (const std::int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

void check_tensor(const TensorInfo& tensor, std::uint64_t expected_begin, std::uint64_t data_bytes,
                  const std::string& origin) {
  const auto type = std::ranges::find(element_types, tensor.dtype, &ElementType::name);
  if (type == element_types.end()) {
    fail(origin, tensor, fmt::format("unknown dtype '{}'", printable(tensor.dtype)));
  }
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    fail(origin, tensor,
         fmt::format("data_offsets [{}, {}] outside the data ({})", tensor.begin, tensor.end,
                     counted(data_bytes, "byte")));
  }
  if (tensor.begin != expected_begin) {
    fail(origin, tensor,
         fmt::format("data begins at byte {}, {} the data before it, which ends at {}", tensor.begin,
                     tensor.begin < expected_begin ? "overlapping" : "leaving a gap after", expected_begin));
  }
  const std::optional<std::uint64_t> bytes = bytes_of(tensor, type->bytes);
  if (!bytes) {
    fail(origin, tensor, "shape is too large");
  }
  if (*bytes != tensor.end - tensor.begin) {
    fail(origin, tensor,
         fmt::format("shape and dtype need {}, data_offsets hold {}", counted(*bytes, "byte"),
                     tensor.end - tensor.begin));
  }
}

/// JSON header for contiguous tensors in this order, padded with spaces to a multiple of 8 bytes.
std::string make_header(std::span<const NamedTensor> tensors,
                        const std::map<std::string, std::string>& metadata) {
  JsonValue header = JsonValue::object();
  for (const auto& [name, text] : metadata) {
    if (is_utf8(name) && is_utf8(text)) continue;
    throw Error(Category::usage,
                fmt::format("metadata {}: name and text must be UTF-8 in a model file", in_quotes(name)));
  }
  if (!metadata.empty()) {
    header[metadata_name] = metadata;
  }
  std::set<std::string> names = {std::string(metadata_name)};
  std::uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const bool is_float = std::holds_alternative<std::span<const float>>(tensor.values);
    const TensorInfo info{.name = tensor.name, .dtype = is_float ? "F32" : "I64", .shape = tensor.shape};
    const std::size_t bytes = tensor.bytes().size();
    const std::uint64_t element_bytes = is_float ? sizeof(float) : sizeof(std::int64_t);
    const auto refuse = [&](const std::string& reason) {
      throw Error(Category::usage, fmt::format("tensor {}: {}", in_quotes(tensor.name), reason));
    };
    if (!is_utf8(tensor.name)) refuse("a name must be UTF-8 in a model file");
    if (!names.insert(tensor.name).second) refuse("this name is reserved, or another tensor has it, too");
    if (bytes_of(info, element_bytes) != bytes) {
      refuse(fmt::format("its values have {}, which do not fit its shape", counted(bytes, "byte")));
    }
    const std::uint64_t end = offset + bytes;
    header[tensor.name] = json_of(TensorEntry{info.dtype, tensor.shape, {offset, end}});
    offset = end;
  }
  std::string json = header.dump();
  json.append((8 - json.size() % 8) % 8, ' ');
  return json;
}

}  // namespace

ModelHeader parse_model_header(std::string_view json, std::uint64_t data_bytes, const std::string& origin) {
  if (!json.starts_with('{')) {
    throw Error(Category::data, fmt::format("{}: no JSON object at byte {}", origin, header_begin));
  }
  const JsonDocument document(json, {.file = origin, .first_byte = header_begin});
  ModelHeader header;
  std::vector<TensorInfo>& tensors = header.tensors;
  for (const auto& [name, value] : document.root().items()) {
    if (name == metadata_name) {
      document.check_object(value);
      for (const auto& [key, text] : value.items()) document.read(text, header.metadata[key]);
      continue;
    }
    TensorEntry entry;
    document.read(value, entry);
    if (entry.data_offsets.size() != 2) document.refuse(value, "data_offsets must be two numbers");
    tensors.push_back({.name = name,
                       .dtype = std::move(entry.dtype),
                       .shape = std::move(entry.shape),
                       .begin = entry.data_offsets[0],
                       .end = entry.data_offsets[1]});
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    check_tensor(tensor, end, data_bytes, origin);
    end = tensor.end;
  }
  if (end != data_bytes) {
    throw Error(Category::data, fmt::format("{}: tensors end at byte {} of the data, file holds {}", origin,
                                            end, data_bytes));
  }
  return header;
}

void write_model(const WriteBytes& write, std::span<const NamedTensor> tensors,
                 const std::map<std::string, std::string>& metadata) {
  constexpr std::size_t max_bytes = std::size_t{8} << 20;
  const std::string json = make_header(tensors, metadata);
  const std::uint64_t length = json.size();
  write(std::as_bytes(std::span(&length, 1)));
  write(std::as_bytes(std::span(json)));
  for (const NamedTensor& tensor : tensors) {
    for (std::span<const std::byte> rest = tensor.bytes(); !rest.empty();) {
      const std::size_t bytes = std::min(rest.size(), max_bytes);
      write(rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  }
}

}  // namespace lockstep
