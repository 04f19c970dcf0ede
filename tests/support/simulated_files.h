#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/files/file_system.h"

namespace lockstep {

/// A file system in memory that can crash as a machine does. Data of a file are durable after fsync of the
/// file; names that were created, renamed or removed, after fsync of the folder (of a rename: of the new
/// name's folder). That is all that POSIX promises; most file systems keep more. There are no links; paths
/// that are not absolute begin at the root.
class SimulatedFiles : public FileSystem {
 public:
  SimulatedFiles();

  /// State after a crash now: what is durable, and of the later changes those that `choice` picks, in their
  /// order. A write consists of a change of the file's size and one change for each 512 bytes of the file.
  /// Choice 0 picks none, 1 all, others pseudo-random ones: a beginning, or each with a certain probability.
  std::unique_ptr<SimulatedFiles> crash(std::uint64_t choice) const;
  /// Number of changes that are not durable.
  std::size_t unsynced() const;
  /// Makes all changes durable.
  void sync_all();
  /// Bytes of all files together, removed ones included while they are open.
  std::uint64_t used() const;
  /// Lets writes beyond `bytes` in all files together fail with ENOSPC, after the part for which there is
  /// room.
  void limit(std::uint64_t bytes);

  /// Contents of a file; fails the test where there is none.
  std::string contents(const Path& path) const;
  /// Creates or replaces a file, durably.
  void put(const Path& path, const std::string& contents);

  int open(const Path& path, int flags) override;
  int close(int descriptor) override;
  ssize_t read(int descriptor, void* data, std::size_t bytes) override;
  ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override;
  ssize_t write(int descriptor, const void* data, std::size_t bytes) override;
  int fsync(int descriptor) override;
  int lock(int /*descriptor*/) override { return 0; }
  int ftruncate(int descriptor, std::uint64_t size) override;
  int fstat(int descriptor, FileStatus& status) override;
  void drop_cache(int /*descriptor*/) override {}
  int free_space(const Path& /*path*/, std::uint64_t& bytes) override {
    bytes = limit_ - std::min(limit_, used());
    return 0;
  }
  int stat(const Path& path, FileStatus& status) override;
  int rename(const Path& from, const Path& to) override;
  int unlink(const Path& path) override;
  int mkdir(const Path& path) override;
  int rmdir(const Path& path) override;
  int list(const Path& path, std::vector<std::string>& names) override;

 private:
  using Id = std::uint64_t;
  /// A file or a folder.
  struct Node {
    FileKind kind = FileKind::file;
    std::string data;                   ///< of a file
    std::map<std::string, Id> entries;  ///< of a folder
  };
  using Tree = std::map<Id, Node>;
  struct Place {
    Id folder = 0;
    std::string name;
  };
  struct Change {
    enum class Kind { resize, write, link, unlink, move };
    Kind kind = Kind::resize;
    Id node = 0;                   ///< whose data or name changes
    std::uint64_t at = 0;          ///< new size, or offset of `data`
    std::string data = {};         ///< write
    Place place = {};              ///< link, unlink, move: the name; move: the new one
    Place from = {};               ///< move: the old name
    FileKind of = FileKind::file;  ///< link: kind of the node
  };
  struct Handle {
    Id node = 0;
    int flags = 0;
    std::uint64_t offset = 0;
  };

  static void apply(const Change& change, Tree& tree);
  void make(Change change);
  /// Node at `path`; 0 with errno: none.
  Id find(const Path& path) const;
  /// Folder and last name of `path`; folder 0 with errno: no such folder.
  Place place_of(const Path& path) const;
  Id entry(const Place& place) const;
  int create(const Place& place, FileKind kind);
  FileStatus status_of(Id node) const;
  Handle* handle(int descriptor);
  std::uint64_t used_now() const;

  mutable std::mutex mutex_;
  Tree now_;
  Tree durable_;
  std::vector<Change> unsynced_;  ///< what leads from durable_ to now_
  std::map<int, Handle> handles_;
  Id next_node_ = 2;
  int next_descriptor_ = 1000;
  std::uint64_t limit_ = ~std::uint64_t{0};
};

}  // namespace lockstep
