#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

/// Whether `bytes` begin like a gzip file (RFC 1952).
bool is_gzip(std::span<const std::byte> bytes);

/// Decompressed size of a gzip file of `compressed_bytes` bytes, read from its last four bytes `trailer`.
/// Throws Error(data) if deflate cannot compress that many bytes into the file.
std::size_t gzip_size(std::uint64_t compressed_bytes, std::span<const std::byte, 4> trailer,
                      const std::string& origin);

/// Decompresses a whole gzip file, whose decompressed size must be destination.size(), and checks its CRC;
/// never writes past `destination`. As in gzip, several members form one stream, and zeros may follow the
/// last one. Throws Error(data) naming `origin`.
void gunzip(std::span<const std::byte> compressed, std::span<std::byte> destination,
            const std::string& origin);

}  // namespace lockstep
