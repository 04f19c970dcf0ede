#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

/// Whether `bytes` begin as a gzip file does (RFC 1952).
bool is_gzip(std::span<const std::byte> bytes);

/// Size after decompression that the trailer of a gzip file of `compressed_bytes` promises, checked against
/// the most that deflate can pack into them. `trailer`: the file's last four bytes. Throws Error(data).
std::size_t gzip_size(std::uint64_t compressed_bytes, std::span<const std::byte, 4> trailer,
                      const std::string& origin);

/// Decompresses a whole gzip file and fills `destination` exactly; never writes past it. Several members
/// behind each other are one stream and zeros may follow the last, as in gzip itself. Checks the CRC.
/// Throws Error(data) with `origin` and what is wrong.
void gunzip(std::span<const std::byte> compressed, std::span<std::byte> destination,
            const std::string& origin);

}  // namespace lockstep
