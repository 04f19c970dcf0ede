#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep {

/// Reader of the events of a JSON object in a file. A derived class handles those that it expects; the others
/// are refused. A handler that returns stop(...) ends the reading. Unlike a document tree, a reader can
/// refuse repeated names, and holds each text once.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Reads the object `json`, which begins at byte `first_byte` of the file `origin`.
  /// Throws Error(Category::data), which names the file, the place and the problem.
  void read(std::string_view json, const std::string& origin, std::size_t first_byte);

  bool null() override { return stop("unexpected null"); }
  bool boolean(bool) override { return stop("unexpected true or false"); }
  bool number_integer(number_integer_t) override { return stop("negative number"); }
  bool number_float(number_float_t, const string_t&) override { return stop("number that is not whole"); }
  bool binary(binary_t&) override { return stop("unexpected binary value"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override;

 protected:
  bool stop(const std::string& what);

 private:
  /// Name of what is being read, such as "tensor 'weight'"; empty outside of all.
  virtual std::string place() const = 0;

  std::size_t first_byte_ = 0;
  std::string problem_;
};

}  // namespace lockstep
