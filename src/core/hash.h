#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace lockstep {

/// Streaming XXH3 128-bit hash, as printed by `xxhsum -H128`. The digest depends only on the bytes, not on
/// the machine or on how the bytes are split into updates. Not safe from several threads at once.
class Digest {
 public:
  Digest();
  explicit Digest(std::span<const std::byte> bytes) : Digest() { update(bytes); }
  explicit Digest(std::string_view text) : Digest(std::as_bytes(std::span(text))) {}
  void update(std::span<const std::byte> bytes);
  /// Hashes the little-endian IEEE bytes of `values`.
  void update(std::span<const float> values);
  /// Digest of all bytes so far, as 32 lower-case hexadecimal digits; further updates may follow.
  std::string hex() const;
  /// The digest of hex() as two numbers: low, high.
  std::array<std::uint64_t, 2> words() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// XXH3 128-bit hash of `bytes` with a seed: low, high. Does not allocate.
std::array<std::uint64_t, 2> hash_with_seed(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace lockstep
