#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::tensorboard {

/// CRC-32C of `bytes` (Castagnoli; RFC 3720, appendix B.4), masked as in TFRecord files, because their
/// contents may contain CRCs themselves.
std::uint32_t masked_crc(std::string_view bytes);

/// Appends a record of a TFRecord file: length (8 bytes), its masked CRC, `message`, its masked CRC; numbers
/// are little-endian. https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
void append_frame(std::string& bytes, std::string_view message);

}  // namespace lockstep::tensorboard
