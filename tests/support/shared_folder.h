#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lockstep/world.h"
#include "support/temporary_folder.h"

namespace lockstep::test {

/// A new folder that all ranks of this host share, removed at the end by rank 0. Collective.
class SharedFolder {
 public:
  explicit SharedFolder(const World& world) {
    if (world.rank() == 0) own_ = std::make_unique<TemporaryFolder>();
    const std::string name = own_ ? own_->string() : std::string();
    const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(name)));
    path_ = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::unique_ptr<TemporaryFolder> own_;
  std::filesystem::path path_;
};

}  // namespace lockstep::test
