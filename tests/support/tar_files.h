#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// Files of an archive: names and contents.
using TarFiles = std::vector<std::pair<std::string, std::string>>;

/// Formats of tar archives, which differ in how they store long names.
enum class TarFormat { ustar, gnu, pax };

/// Header of an entry. `name` has at most 100 bytes, `prefix` 155.
inline std::string tar_header(const std::string& name, std::size_t size, char type,
                              const std::string& prefix = {}) {
  std::string header(512, '\0');
  const auto set = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  set(0, name);
  set(100, "0000644");
  set(108, "0000000");
  set(116, "0000000");
  set(124, fmt::format("{:011o}", size));
  set(136, "00000000000");
  set(148, "        ");
  header[156] = type;
  set(257, std::string_view("ustar\00000", 8));
  set(345, prefix);
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<std::uint8_t>(byte);
  set(148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  return header;
}

/// Header and contents of an entry, padded to whole blocks.
inline std::string tar_entry(const std::string& name, const std::string& bytes, char type = '0',
                             const std::string& prefix = {}) {
  return tar_header(name, bytes.size(), type, prefix) + bytes +
         std::string((512 - bytes.size() % 512) % 512, '\0');
}

/// An archive with these files.
inline std::string tar_archive(const TarFiles& files, TarFormat format = TarFormat::ustar) {
  std::string archive;
  for (const auto& [name, bytes] : files) {
    if (name.size() <= 100) {
      archive += tar_entry(name, bytes);
    } else if (format == TarFormat::ustar) {
      const std::size_t slash = name.rfind('/');
      archive += tar_entry(name.substr(slash + 1), bytes, '0', name.substr(0, slash));
    } else if (format == TarFormat::gnu) {
      archive += tar_entry("././@LongLink", name + '\0', 'L') + tar_entry(name.substr(0, 100), bytes);
    } else {
      const std::string record = " path=" + name + "\n";
      const std::size_t length = record.size() + (record.size() + 3 < 1000 ? 3 : 4);
      archive += tar_entry("PaxHeaders/x", std::to_string(length) + record, 'x') +
                 tar_entry(name.substr(0, 100), bytes);
    }
  }
  return archive + std::string(1024, '\0');
}

}  // namespace lockstep
