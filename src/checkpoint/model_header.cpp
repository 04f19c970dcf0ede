#include "checkpoint/model_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "checkpoint/json_reader.h"
#include "core/printable.h"
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

/// A tensor whose object is being read.
struct Draft {
  TensorInfo info;
  std::vector<std::int64_t> offsets;
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
};

/// Reader of a header.
class HeaderReader : public JsonReader {
 public:
  ModelHeader header;

  bool number_unsigned(number_unsigned_t value) override {
    if (numbers_ == nullptr) {
      return stop("unexpected number");
    }
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      return stop("number out of range");
    }
    numbers_->push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header.metadata[key_] = value;
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype" || numbers_ != nullptr) {
      return stop("unexpected text");
    }
    draft_.info.dtype = value;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = name_ == metadata_name ? Place::metadata : Place::tensor;
      draft_ = Draft{};
      draft_.info.name = name_;
      key_.clear();
    } else {
      return stop("nested too deep");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (place_ == Place::top) {
      name_ = value;
      return names_.insert(value).second || stop("name occurs twice");
    }
    key_ = value;
    if (place_ == Place::metadata) {
      return !header.metadata.contains(value) || stop(fmt::format("key '{}' occurs twice", printable(value)));
    }
    bool* seen = value == "dtype"          ? &draft_.has_dtype
                 : value == "shape"        ? &draft_.has_shape
                 : value == "data_offsets" ? &draft_.has_offsets
                                           : nullptr;
    if (seen == nullptr || *seen) {
      return stop(fmt::format("{} key '{}'", seen == nullptr ? "unknown" : "repeated", printable(value)));
    }
    *seen = true;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || numbers_ != nullptr || (key_ != "shape" && key_ != "data_offsets")) {
      return stop("unexpected list");
    }
    numbers_ = key_ == "shape" ? &draft_.info.shape : &draft_.offsets;
    return true;
  }

  bool end_array() override {
    numbers_ = nullptr;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && !finish_tensor()) {
      return false;
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

 private:
  enum class Place { outside, top, tensor, metadata };

  std::string place() const override {
    return place_ == Place::outside || name_.empty() ? std::string()
                                                     : fmt::format("tensor '{}'", printable(name_));
  }

  bool finish_tensor() {
    if (!draft_.has_dtype || !draft_.has_shape || !draft_.has_offsets) {
      return stop("needs dtype, shape and data_offsets");
    }
    if (draft_.offsets.size() != 2) {
      return stop("data_offsets must be two numbers");
    }
    draft_.info.begin = static_cast<std::uint64_t>(draft_.offsets[0]);
    draft_.info.end = static_cast<std::uint64_t>(draft_.offsets[1]);
    header.tensors.push_back(std::move(draft_.info));
    return true;
  }

  Place place_ = Place::outside;
  std::string name_;  ///< last key of the top level: a tensor's name
  std::string key_;   ///< last key of a tensor or the metadata
  std::set<std::string> names_;
  Draft draft_;
  std::vector<std::int64_t>* numbers_ = nullptr;  ///< list that is being read; null: none
};

[[noreturn]] void fail(const std::string& origin, const TensorInfo& tensor, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: tensor '{}': {}", origin, printable(tensor.name), what));
}

/// Number of bytes of the tensor; none: it does not fit 64 bits.
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
  const auto type = std::find_if(element_types.begin(), element_types.end(),
                                 [&](const ElementType& known) { return known.name == tensor.dtype; });
  if (type == element_types.end()) {
    fail(origin, tensor, fmt::format("unknown dtype '{}'", printable(tensor.dtype)));
  }
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    fail(origin, tensor,
         fmt::format("data_offsets [{}, {}] outside the {} bytes of data", tensor.begin, tensor.end,
                     data_bytes));
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
         fmt::format("shape and dtype need {} bytes, data_offsets hold {}", *bytes,
                     tensor.end - tensor.begin));
  }
}

}  // namespace

ModelHeader parse_model_header(std::string_view json, std::uint64_t data_bytes, const std::string& origin) {
  HeaderReader reader;
  reader.read(json, origin, header_begin);
  std::vector<TensorInfo>& tensors = reader.header.tensors;
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
  return std::move(reader.header);
}

std::string make_model_header(std::span<const NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
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
    if (!names.insert(tensor.name).second || bytes_of(info, element_bytes) != bytes) {
      throw Error(Category::internal,
                  fmt::format("tensor '{}' has a repeated or reserved name, or a shape that "
                              "does not fit its {} bytes",
                              tensor.name, bytes));
    }
    const std::uint64_t end = offset + bytes;
    header[tensor.name] = {{"dtype", info.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json = header.dump();
  json.append((8 - json.size() % 8) % 8, ' ');
  return json;
}

}  // namespace lockstep
