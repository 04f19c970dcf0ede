#include "checkpoint/checkpoint_state.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/json_reader.h"
#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t state_format = 1;

struct Section {
  const char* name;
  Facts CheckpointState::*facts;
};
constexpr std::array<Section, 4> sections = {{{"progress", &CheckpointState::progress},
                                              {"options", &CheckpointState::options},
                                              {"identity", &CheckpointState::identity},
                                              {"fingerprint", &CheckpointState::fingerprint}}};

/// A string or, for a text that is not UTF-8 (a file's name may be anything), the list of its bytes.
nlohmann::ordered_json json_of(const std::string& text) {
  nlohmann::ordered_json json = text;
  try {
    static_cast<void>(json.dump());
  } catch (const nlohmann::json::type_error&) {
    json = nlohmann::ordered_json::array();
    for (const char byte : text) json.push_back(static_cast<unsigned char>(byte));
  }
  return json;
}

/// Reader of state.json.
class StateReader : public JsonReader {
 public:
  CheckpointState state;

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::bytes) {
      if (value > std::numeric_limits<unsigned char>::max()) return stop("byte out of range");
      section_->back().second += static_cast<char>(value);
      return true;
    }
    if (place_ != Place::top) return stop("number where a text belongs");
    if (key_ == "format") {
      if (value == state_format) return true;
      return stop(fmt::format("format {}; this version of lockstep reads format {}", value, state_format));
    }
    if (key_ == "step") {
      state.step = value;
      return true;
    }
    if (key_ != "epoch" || value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      return stop("unexpected number");
    }
    state.epoch = static_cast<int>(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::section) {
      section_->back().second = value;
    } else if (place_ == Place::top && key_ == "engines") {
      state.engines = value;
    } else {
      return stop("unexpected text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
      return true;
    }
    section_ = place_ == Place::top ? find_section() : nullptr;
    if (section_ == nullptr) return stop("unexpected object");
    place_ = Place::section;
    names_.clear();
    return true;
  }

  bool key(string_t& value) override {
    if (place_ == Place::top) {
      key_ = value;
      return keys_.insert(value).second || stop("occurs twice");
    }
    if (!names_.insert(value).second) return stop(fmt::format("name '{}' occurs twice", printable(value)));
    section_->emplace_back(value, std::string());
    return true;
  }

  bool end_object() override {
    if (place_ == Place::section) {
      place_ = Place::top;
      return true;
    }
    place_ = Place::outside;
    key_.clear();
    for (const char* needed : {"format", "step", "epoch", "engines"}) {
      if (!keys_.contains(needed)) return stop(fmt::format("'{}' is missing", needed));
    }
    for (const Section& section : sections) {
      if (!keys_.contains(section.name)) return stop(fmt::format("'{}' is missing", section.name));
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::section) return stop("unexpected list");
    place_ = Place::bytes;
    return true;
  }

  bool end_array() override {
    place_ = Place::section;
    return true;
  }

 private:
  enum class Place { outside, top, section, bytes };

  std::string place() const override {
    return key_.empty() ? std::string() : fmt::format("'{}'", printable(key_));
  }

  Facts* find_section() {
    for (const Section& section : sections) {
      if (key_ == section.name) return &(state.*section.facts);
    }
    return nullptr;
  }

  Place place_ = Place::outside;
  std::string key_;  ///< last key of the top level
  std::set<std::string> keys_;
  std::set<std::string> names_;  ///< of the section
  Facts* section_ = nullptr;
};

}  // namespace

std::string state_json(const CheckpointState& state) {
  nlohmann::ordered_json json = {{"format", state_format}, {"step", state.step}, {"epoch", state.epoch}};
  for (const Section& section : sections) {
    nlohmann::ordered_json& object = json[section.name] = nlohmann::ordered_json::object();
    for (const auto& [name, text] : state.*section.facts) {
      if (object.contains(name)) {
        throw Error(Category::internal, fmt::format("state.json: name '{}' occurs twice", printable(name)));
      }
      object[name] = json_of(text);
    }
  }
  json["engines"] = state.engines;
  try {
    return json.dump(1) + "\n";
  } catch (const nlohmann::json::type_error& error) {
    throw Error(Category::internal, fmt::format("state.json: {}", error.what()));
  }
}

CheckpointState parse_state(std::string_view json, const std::string& origin) {
  StateReader reader;
  reader.read(json, origin, 0);
  return std::move(reader.state);
}

}  // namespace lockstep
