#include "ptx/operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>

namespace lockstep::ptx {
namespace {

using Table = std::map<std::string, Operation>;
using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S8 = std::int8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

template <class Value>
Value value_of(Word bits) {
  if constexpr (std::is_same_v<Value, float>) {
    return std::bit_cast<float>(static_cast<U32>(bits));
  } else if constexpr (std::is_same_v<Value, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<Value>(bits);
  }
}

template <class Value>
Word bits_of(Value value) {
  if constexpr (std::is_same_v<Value, float>) {
    return std::bit_cast<U32>(value);
  } else if constexpr (std::is_same_v<Value, double>) {
    return std::bit_cast<U64>(value);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? 1 : 0;
  } else {
    return static_cast<std::make_unsigned_t<Value>>(value);
  }
}

/// Compute is the type of a lambda without captures.
template <class From, class To, class Compute, class... Words>
Word compute(Words... words) {
  return bits_of(static_cast<To>(Compute()(value_of<From>(words)...)));
}

/// Adds an operation whose operands all have type From and whose result has type To.
template <class From, class To = From, class Compute>
void put(Table& table, const std::string& name, Compute /*compute*/) {
  if constexpr (std::is_invocable_v<Compute, From>) {
    table[name] = {1, [](Word a, Word, Word, Word) { return compute<From, To, Compute>(a); }};
  } else if constexpr (std::is_invocable_v<Compute, From, From>) {
    table[name] = {2, [](Word a, Word b, Word, Word) { return compute<From, To, Compute>(a, b); }};
  } else if constexpr (std::is_invocable_v<Compute, From, From, From>) {
    table[name] = {3, [](Word a, Word b, Word c, Word) { return compute<From, To, Compute>(a, b, c); }};
  } else {
    table[name] = {4, [](Word a, Word b, Word c, Word d) { return compute<From, To, Compute>(a, b, c, d); }};
  }
}

template <class T>
void put_order(Table& table, const std::string& type) {
  put<T, bool>(table, "setp.lt." + type, [](T a, T b) { return a < b; });
  put<T, bool>(table, "setp.le." + type, [](T a, T b) { return a <= b; });
  put<T, bool>(table, "setp.gt." + type, [](T a, T b) { return a > b; });
  put<T, bool>(table, "setp.ge." + type, [](T a, T b) { return a >= b; });
}

/// Adds operations on bits, whose type in PTX is .bN, .uN or .sN.
template <class T>
void put_bits(Table& table, const std::string& type) {
  put<T, bool>(table, "setp.eq." + type, [](T a, T b) { return a == b; });
  put<T, bool>(table, "setp.ne." + type, [](T a, T b) { return a != b; });
  put<T>(table, "mov." + type, [](T a) { return a; });
  put<T>(table, "and." + type, [](T a, T b) { return a & b; });
  put<T>(table, "or." + type, [](T a, T b) { return a | b; });
  put<T>(table, "xor." + type, [](T a, T b) { return a ^ b; });
  put<Word, T>(table, "selp." + type, [](Word a, Word b, Word which) { return which != 0 ? a : b; });
  constexpr Word width = std::numeric_limits<T>::digits;
  put<Word, T>(table, "shl." + type, [](Word a, Word by) { return by < width ? a << by : 0; });
}

template <class T>
T divide(T a, T b) {
  if (b == 0) throw std::runtime_error("integer division by zero");
  return a / b;
}

/// Adds integer operations of one width: first operations that do not depend on the sign, then unsigned
/// operations, then signed operations.
template <class U, class S>
void put_integers(Table& table, const std::string& width) {
  for (const char* sign : {"b", "u", "s"}) put_bits<U>(table, sign + width);
  put<U>(table, "not.b" + width, [](U a) { return ~a; });
  for (const char* sign : {"u", "s"}) {
    const std::string type = sign + width;
    put<U>(table, "add." + type, [](U a, U b) { return a + b; });
    put<U>(table, "sub." + type, [](U a, U b) { return a - b; });
    put<U>(table, "neg." + type, [](U a) { return U{} - a; });
    put<U>(table, "mul.lo." + type, [](U a, U b) { return Word{a} * b; });
    put<U>(table, "mad.lo." + type, [](U a, U b, U c) { return Word{a} * b + c; });
  }
  put_order<U>(table, "u" + width);
  put<U>(table, "min.u" + width, [](U a, U b) { return std::min(a, b); });
  put<U>(table, "max.u" + width, [](U a, U b) { return std::max(a, b); });
  put<U>(table, "div.u" + width, [](U a, U b) { return divide(a, b); });
  put<U>(table, "rem.u" + width, [](U a, U b) { return a - divide(a, b) * b; });
  constexpr Word digits = std::numeric_limits<U>::digits;
  for (const char* type : {"shr.u", "shr.b"}) {
    put<Word, U>(table, type + width, [](Word a, Word by) { return by < digits ? a >> by : 0; });
  }
  put_order<S>(table, "s" + width);
  put<S>(table, "min.s" + width, [](S a, S b) { return std::min(a, b); });
  put<S>(table, "max.s" + width, [](S a, S b) { return std::max(a, b); });
  put<Word, S>(table, "shr.s" + width,
               [](Word a, Word by) { return static_cast<S>(a) >> std::min(by, digits - 1); });
}

template <class From, class To>
void put_conversion(Table& table, const std::string& from, const std::string& to) {
  if (sizeof(From) == sizeof(To)) return;
  put<From, To>(table, "cvt." + to + "." + from, [](From a) { return a; });
}

template <class From>
void put_conversions(Table& table, const std::string& from) {
  put_conversion<From, U8>(table, from, "u8");
  put_conversion<From, U16>(table, from, "u16");
  put_conversion<From, S16>(table, from, "s16");
  put_conversion<From, U32>(table, from, "u32");
  put_conversion<From, S32>(table, from, "s32");
  put_conversion<From, U64>(table, from, "u64");
  put_conversion<From, S64>(table, from, "s64");
  put<From, float>(table, "cvt.rn.f32." + from, [](From a) { return static_cast<float>(a); });
  put<From, double>(table, "cvt.rn.f64." + from, [](From a) { return static_cast<double>(a); });
}

/// Adds floating-point operations. Comparisons with names such as `ltu` are true if an operand is NaN.
template <class T, class Bits>
void put_floats(Table& table, const std::string& type) {
  put<T>(table, "add.rn." + type, [](T a, T b) { return a + b; });
  put<T>(table, "sub.rn." + type, [](T a, T b) { return a - b; });
  put<T>(table, "mul.rn." + type, [](T a, T b) { return a * b; });
  put<T>(table, "div.rn." + type, [](T a, T b) { return a / b; });
  put<T>(table, "fma.rn." + type, [](T a, T b, T c) { return std::fma(a, b, c); });
  put<T>(table, "rcp.rn." + type, [](T a) { return T{1} / a; });
  put<T>(table, "sqrt.rn." + type, [](T a) { return std::sqrt(a); });
  put<T>(table, "min." + type, [](T a, T b) { return std::fmin(a, b); });
  put<T>(table, "max." + type, [](T a, T b) { return std::fmax(a, b); });
  put_order<T>(table, type);
  put<T, bool>(table, "setp.eq." + type, [](T a, T b) { return a == b; });
  put<T, bool>(table, "setp.ne." + type, [](T a, T b) { return a < b || a > b; });
  put<T, bool>(table, "setp.neu." + type, [](T a, T b) { return !(a == b); });
  put<T, bool>(table, "setp.equ." + type, [](T a, T b) { return !(a < b || a > b); });
  put<T, bool>(table, "setp.ltu." + type, [](T a, T b) { return !(a >= b); });
  put<T, bool>(table, "setp.leu." + type, [](T a, T b) { return !(a > b); });
  put<T, bool>(table, "setp.gtu." + type, [](T a, T b) { return !(a <= b); });
  put<T, bool>(table, "setp.geu." + type, [](T a, T b) { return !(a < b); });
  put<T, bool>(table, "setp.nan." + type, [](T a, T b) { return std::isnan(a) || std::isnan(b); });
  put<T, bool>(table, "setp.num." + type, [](T a, T b) { return !std::isnan(a) && !std::isnan(b); });
  // Change only the sign bit, because arithmetic may change the bits of a NaN.
  constexpr Bits sign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
  put<Bits>(table, "neg." + type, [](Bits a) { return a ^ sign; });
  put<Bits>(table, "abs." + type, [](Bits a) { return a & ~sign; });
  put<Bits>(table, "mov." + type, [](Bits a) { return a; });
  put<Word, Bits>(table, "selp." + type, [](Word a, Word b, Word which) { return which != 0 ? a : b; });
}

/// The four bytes of b:a that the hexadecimal digits of `selectors` choose (PTX's prmt). A digit above 7
/// fills the result's byte with the sign of the chosen byte.
Word permute(Word a, Word b, Word selectors) {
  const Word bytes = b << 32 | a;
  Word result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const Word selector = selectors >> (4 * i) & 15U;
    const auto byte = static_cast<S8>(bytes >> (8 * (selector & 7U)));
    const auto chosen = static_cast<U8>(selector > 7 ? (byte < 0 ? 0xff : 0) : byte);
    result |= Word{chosen} << (8 * i);
  }
  return result;
}

/// `base` with the `length` bits that start at `position` replaced by the lowest bits of `field` (PTX's bfi).
Word insert(Word field, Word base, Word position, Word length) {
  if (position > 63 || length == 0) return base;
  const Word mask = (length > 63 ? ~Word{0} : (Word{1} << length) - 1) << position;
  return (base & ~mask) | (field << position & mask);
}

Table make_table() {
  Table table;
  put_integers<U16, S16>(table, "16");
  put_integers<U32, S32>(table, "32");
  put_integers<U64, S64>(table, "64");
  put_floats<float, U32>(table, "f32");
  put_floats<double, U64>(table, "f64");
  put_bits<bool>(table, "pred");
  put<bool>(table, "not.pred", [](bool a) { return !a; });
  put_conversions<U8>(table, "u8");
  put_conversions<S8>(table, "s8");
  put_conversions<U16>(table, "u16");
  put_conversions<S16>(table, "s16");
  put_conversions<U32>(table, "u32");
  put_conversions<S32>(table, "s32");
  put_conversions<U64>(table, "u64");
  put_conversions<S64>(table, "s64");
  put<float, double>(table, "cvt.f64.f32", [](float a) { return a; });
  put<double, float>(table, "cvt.rn.f32.f64", [](double a) { return a; });
  put<double>(table, "cvt.rmi.f64.f64", [](double a) { return std::floor(a); });
  put<double, S32>(table, "cvt.rzi.s32.f64", [](double a) {  // NaN yields 0
    return std::isnan(a) ? 0.0 : std::clamp(a, -2147483648.0, 2147483647.0);
  });
  put<S32>(table, "div.s32", [](S32 a, S32 b) { return b == -1 ? 0 - S64{a} : divide(S64{a}, S64{b}); });
  put<S64>(table, "div.s64",
           [](S64 a, S64 b) { return b == -1 ? static_cast<S64>(0 - U64(a)) : divide(a, b); });
  put<U32, U64>(table, "mul.wide.u32", [](U32 a, U32 b) { return U64{a} * b; });
  put<S32, S64>(table, "mul.wide.s32", [](S32 a, S32 b) { return S64{a} * b; });
  put<Word>(table, "cvta.to.global.u64", [](Word a) { return a; });
  put<U32>(table, "prmt.b32", [](U32 a, U32 b, U32 c) { return permute(a, b, c); });
  put<Word, U32>(table, "bfi.b32", [](Word a, Word b, Word c, Word d) { return insert(a, b, c, d); });
  put<Word>(table, "bfi.b64", [](Word a, Word b, Word c, Word d) { return insert(a, b, c, d); });
  return table;
}

}  // namespace

const Operation* find_operation(const std::string& mnemonic) {
  static const Table table = make_table();
  const auto found = table.find(mnemonic);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace lockstep::ptx
