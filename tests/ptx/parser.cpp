#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "ptx/kernel.h"

namespace lockstep::ptx {
namespace {

using Kind = Instruction::Kind;

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error("PTX: unknown " + what); }

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t;") - begin + 1);
}

/// Splits at commas outside of braces.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (const auto part = trimmed(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
      begin = i + 1;
    } else if (text[i] == '{' || text[i] == '}') {
      depth += text[i] == '{' ? 1 : -1;
    }
  }
  return parts;
}

/// Members of a vector such as {%f1, %f2}; for any other operand, only the operand itself.
std::vector<std::string_view> members(std::string_view operand) {
  if (!operand.starts_with('{')) return {operand};
  return split(operand.substr(1, operand.size() - 2));
}

std::uint64_t number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) refuse("number " + std::string(text));
  return value;
}

/// Value of a constant: an integer, or the bits of a floating-point number (0f3F800000, 0d...).
Word constant(std::string_view text) {
  if (text.starts_with("0f") || text.starts_with("0d") || text.starts_with("0x")) {
    return number(text.substr(2), 16);
  }
  return text.starts_with('-') ? Word{} - number(text.substr(1)) : number(text);
}

/// Width in bits of a type such as .f32.
unsigned bits_of(std::string_view type) {
  if (type == ".pred") return 1;
  if (type.size() < 3 || std::string_view(".b.u.s.f").find(type.substr(0, 2)) == std::string_view::npos) {
    refuse("type " + std::string(type));
  }
  return static_cast<unsigned>(number(type.substr(2)));
}

Word mask_of(unsigned bits) { return bits >= 64 ? ~Word{} : (Word{1} << bits) - 1; }

/// Variable or parameter, such as `.align 8 .b8 name[24]`.
struct Declaration {
  std::string name;
  std::size_t align = 1, bytes = 0;
};
Declaration declaration(std::string_view text) {
  Declaration result;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (word == ".align") {
      words >> result.align;
    } else if (word.starts_with('.')) {
      result.bytes = bits_of(word) / 8;
      result.align = std::max(result.align, result.bytes);
    } else {
      const auto bracket = word.find('[');
      result.name = word.substr(0, bracket);
      if (bracket != std::string::npos) {
        result.bytes *= number(std::string_view(word).substr(bracket + 1, word.size() - bracket - 2));
      }
    }
  }
  return result;
}

/// Reads a kernel line by line; nvcc writes one statement per line.
class KernelReader {
 public:
  explicit KernelReader(std::string name) {
    kernel_.name = std::move(name);
    kernel_.thread = add_register("%tid.x", 32);
    kernel_.block = add_register("%ctaid.x", 32);
  }

  void parameter(std::string_view text) {
    const std::size_t offset = place(text, kernel_.parameter_bytes);
    kernel_.parameters.push_back({offset, kernel_.parameter_bytes - offset});
  }
  void shared(std::string_view text) { place(text, kernel_.shared_bytes); }

  void statement(std::string_view line) {
    if (line.ends_with(':')) {
      labels_[std::string(line.substr(0, line.size() - 1))] = kernel_.code.size();
    } else if (line.starts_with(".reg")) {
      registers(trimmed(line.substr(4)));
    } else if (line.starts_with(".shared")) {
      shared(line.substr(7));
    } else if (line.starts_with(".local")) {
      place(line.substr(6), kernel_.local_bytes);
    } else if (line.starts_with('.')) {
      if (!line.starts_with(".pragma")) refuse("statement " + std::string(line));
    } else {
      instruction(line);
    }
  }

  Kernel finish() {
    kernel_.code.push_back({.text = "(end)"});
    for (const auto& [at, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) refuse("label " + label);
      kernel_.code[at].target = found->second;
    }
    return std::move(kernel_);
  }

 private:
  /// Places a variable at `end`, aligned, and moves `end` past it. Returns its offset.
  std::size_t place(std::string_view text, std::size_t& end) {
    const Declaration declared = declaration(trimmed(text));
    const std::size_t offset = (end + declared.align - 1) / declared.align * declared.align;
    addresses_[declared.name] = offset;
    end = offset + declared.bytes;
    return offset;
  }

  int add_register(const std::string& name, unsigned bits) {
    registers_[name] = {static_cast<int>(kernel_.registers.size()), bits};
    kernel_.registers.push_back(0);
    return registers_[name].number;
  }
  /// Declares registers: `.b32 %r<5>` declares five, `.b64 %SP` one.
  void registers(std::string_view text) {
    const auto name = std::min(text.find('%'), text.size()), bracket = text.find('<');
    const unsigned bits = bits_of(trimmed(text.substr(0, name)));
    const std::string stem(text.substr(name, bracket - name));
    if (bracket == std::string_view::npos) {
      add_register(stem, bits);
      return;
    }
    const std::uint64_t count = number(text.substr(bracket + 1, text.size() - bracket - 2));
    for (std::uint64_t i = 0; i < count; ++i) add_register(stem + std::to_string(i), bits);
  }

  struct Register {
    int number;
    unsigned bits;
  };
  const Register& result(std::string_view text) const {
    const auto found = registers_.find(std::string(text));
    if (found == registers_.end()) refuse("register " + std::string(text));
    return found->second;
  }
  /// Number of the register of an operand; constants and addresses get a new register.
  int operand(std::string_view text) {
    if (text.starts_with('%')) return result(text).number;
    const auto address = addresses_.find(std::string(text));
    const Word value = address == addresses_.end() ? constant(text) : address->second;
    kernel_.registers.push_back(value);
    return static_cast<int>(kernel_.registers.size()) - 1;
  }

  void instruction(std::string_view line) {
    Instruction made{.text = std::string(line)};
    if (line.starts_with('@')) {
      const auto end = line.find_first_of(" \t");
      made.negated = line.starts_with("@!");
      made.guard = result(line.substr(made.negated ? 2 : 1, end - (made.negated ? 2 : 1))).number;
      line = trimmed(line.substr(end));
    }
    const auto end = line.find_first_of(" \t");
    const std::string mnemonic(line.substr(0, end));
    const auto operands =
        end == std::string_view::npos ? std::vector<std::string_view>{} : split(line.substr(end));
    if (mnemonic == "ret" && operands.empty()) {
      made.kind = Kind::end;
    } else if ((mnemonic == "bra" || mnemonic == "bra.uni") && operands.size() == 1) {
      made.kind = Kind::branch;
      branches_[kernel_.code.size()] = operands[0];
    } else if (mnemonic == "bar.sync" && operands.size() == 1 && operands[0] == "0") {
      made.kind = Kind::barrier;
    } else if (mnemonic == "shfl.sync.down.b32" && operands.size() == 5) {
      shuffle(made, operands);
    } else if ((mnemonic.starts_with("ld.") || mnemonic.starts_with("st.")) && operands.size() == 2) {
      memory(made, mnemonic, operands);
    } else if (operands.size() == 2 && (operands[0].starts_with('{') || operands[1].starts_with('{'))) {
      pieces(made, mnemonic, operands);
    } else {
      compute(made, mnemonic, operands);
    }
    kernel_.code.push_back(std::move(made));
  }

  void compute(Instruction& made, const std::string& mnemonic,
               const std::vector<std::string_view>& operands) {
    const Operation* const operation = find_operation(mnemonic);
    if (operation == nullptr || operands.size() != operation->operands + 1)
      refuse("instruction " + made.text);
    made.kind = Kind::compute;
    made.operation = *operation;
    made.results[0] = result(operands[0]).number;
    for (std::size_t i = 1; i < operands.size(); ++i) made.operands[i - 1] = operand(operands[i]);
  }

  void shuffle(Instruction& made, const std::vector<std::string_view>& operands) {
    made.kind = Kind::shuffle;
    const auto bar = operands[0].find('|');
    made.results[0] = result(operands[0].substr(0, bar)).number;
    if (bar != std::string_view::npos) made.results[1] = result(operands[0].substr(bar + 1)).number;
    for (std::size_t i = 1; i < operands.size(); ++i) made.operands[i - 1] = operand(operands[i]);
  }

  /// Parses an instruction such as mov.b64 {%r1, %r2}, %rd1, or mov.b64 %rd1, {%r1, %r2}.
  void pieces(Instruction& made, const std::string& mnemonic, const std::vector<std::string_view>& operands) {
    const auto results = members(operands[0]), values = members(operands[1]);
    made.kind = results.size() == 1 ? Kind::pack : Kind::unpack;
    const auto& several = results.size() == 1 ? values : results;
    if (!mnemonic.starts_with("mov.b") || several.size() > 4 || (results.size() > 1 && values.size() > 1)) {
      refuse("instruction " + made.text);
    }
    made.count = static_cast<unsigned>(several.size());
    made.bytes = bits_of(mnemonic.substr(3)) / 8 / made.count;
    made.mask = mask_of(8 * made.bytes);
    for (std::size_t i = 0; i < results.size(); ++i) made.results[i] = result(results[i]).number;
    for (std::size_t i = 0; i < values.size(); ++i) made.operands[i] = operand(values[i]);
  }

  /// Parses a load or store such as ld.global.v2.f32 {%f1, %f2}, [%rd1+8].
  void memory(Instruction& made, const std::string& mnemonic, const std::vector<std::string_view>& operands) {
    const bool loads = mnemonic.starts_with("ld");
    made.kind = loads ? Kind::load : Kind::store;
    const auto values = members(operands[loads ? 0 : 1]);
    std::string_view address = operands[loads ? 1 : 0];
    static const std::map<std::string, Space> spaces = {{"global", Space::global},
                                                        {"shared", Space::shared},
                                                        {"local", Space::local},
                                                        {"param", Space::parameter}};
    std::istringstream words(mnemonic.substr(3));
    unsigned count = 1;
    for (std::string word; std::getline(words, word, '.');) {
      if (const auto space = spaces.find(word); space != spaces.end()) {
        made.space = space->second;
      } else if (word == "v2" || word == "v4") {
        count = word == "v2" ? 2 : 4;
      } else if (word != "nc") {
        made.bytes = bits_of("." + word) / 8;
        made.is_signed = word.starts_with('s');
      }
    }
    if (made.bytes == 0 || values.size() != count || !address.starts_with('[') || !address.ends_with(']')) {
      refuse("instruction " + made.text);
    }
    made.count = count;
    address = address.substr(1, address.size() - 2);
    if (const auto plus = address.find('+'); plus != std::string_view::npos) {
      made.offset = static_cast<std::int64_t>(constant(address.substr(plus + 1)));
      address = address.substr(0, plus);
    }
    made.operands[0] = operand(address);
    for (std::size_t i = 0; i < count; ++i) {
      if (loads) {
        made.results[i] = result(values[i]).number;
        made.mask = mask_of(result(values[i]).bits);
      } else {
        made.operands[i + 1] = operand(values[i]);
      }
    }
  }

  Kernel kernel_;
  std::map<std::string, Register> registers_;
  std::map<std::string, std::size_t> addresses_, labels_;
  std::map<std::size_t, std::string> branches_;  ///< by index of the instruction: its label
};

}  // namespace

std::vector<Kernel> read_kernels(const std::string& text) {
  std::vector<Kernel> kernels;
  std::vector<std::string> shared;  // variables outside of kernels
  std::optional<KernelReader> reader;
  bool in_body = false;
  std::istringstream lines(text);
  std::string full;
  for (int at = 1; std::getline(lines, full); ++at) {
    try {
      const std::string_view line = trimmed(std::string_view(full).substr(0, full.find("//")));
      if (line.empty()) continue;
      if (const auto entry = line.find(".entry "); entry != std::string_view::npos) {
        reader.emplace(std::string(trimmed(line.substr(entry + 7, line.find('(') - entry - 7))));
        for (const std::string& each : shared) reader->shared(each);
      } else if (!reader) {
        if (line.starts_with(".shared")) {
          shared.emplace_back(line.substr(7));
        } else if (!line.starts_with(".version") && !line.starts_with(".target") &&
                   !line.starts_with(".address_size")) {
          refuse("statement " + std::string(line));
        }
      } else if (line == "{") {
        in_body = true;
      } else if (line == "}") {
        kernels.push_back(reader->finish());
        reader.reset();
        in_body = false;
      } else if (in_body) {
        reader->statement(line);
      } else if (line.starts_with(".param")) {
        reader->parameter(line.ends_with(',') ? line.substr(6, line.size() - 7) : line.substr(6));
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("line " + std::to_string(at) + ": " + error.what());
    }
  }
  return kernels;
}

}  // namespace lockstep::ptx
