#include "run/tensorboard/record_frame.h"

#include <boost/crc.hpp>
#include <cstddef>

namespace lockstep::tensorboard {
namespace {

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

}  // namespace

std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t sum = crc.checksum();
  return ((sum >> 15) | (sum << 17)) + 0xA282EAD8U;
}

void append_frame(std::string& bytes, std::string_view message) {
  const std::string length = little_endian(std::uint64_t{message.size()});
  bytes += length;
  bytes += little_endian(masked_crc(length));
  bytes += message;
  bytes += little_endian(masked_crc(message));
}

}  // namespace lockstep::tensorboard
