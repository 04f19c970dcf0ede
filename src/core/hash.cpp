#include "core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <new>

namespace lockstep {

static_assert(std::endian::native == std::endian::little, "digests and model files are little-endian");

void Digest::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Digest::Digest() : state_(XXH3_createState()) {
  if (!state_) {
    throw std::bad_alloc();
  }
  XXH3_128bits_reset(state_.get());
}

void Digest::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

void Digest::update(std::span<const float> values) { update(std::as_bytes(values)); }

std::array<std::uint64_t, 2> Digest::words() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {hash.low64, hash.high64};
}

std::string Digest::hex() const {
  const auto [low, high] = words();
  return fmt::format("{:016x}{:016x}", high, low);
}

std::array<std::uint64_t, 2> hash_with_seed(std::span<const std::byte> bytes, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}

}  // namespace lockstep
