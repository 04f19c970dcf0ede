#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files/file_system.h"

namespace lockstep {

/// A call of TestFiles before it is made.
struct FileCall {
  std::uint64_t number = 0;         ///< from 1, over all calls since fail()
  std::string name = {};            ///< "open", "pread", ...
  std::filesystem::path path = {};  ///< also of calls on descriptors; of rename: the old name
  bool writes = false;  ///< whether it needs room on the disk; open: whether it may create the file
};

/// File system whose calls can fail: a disk in memory, which can also lose data as in a crash of the machine,
/// or another file system.
///
/// On the disk in memory, data of a file are durable after fsync of the file; names that were created,
/// renamed or removed, after fsync of the folder (of a rename: of the new name's folder). That is all that
/// POSIX promises; most file systems keep more. There are no links; paths that are not absolute begin at the
/// root.
class TestFiles : public FileSystem {
 public:
  /// Errno with which a call fails; 0: the call is passed on. Without such a function, all calls are.
  using ErrorOf = std::function<int(const FileCall&)>;

  /// An empty disk in memory.
  TestFiles();
  /// Passes calls on to `inner`, unless they fail as with fail().
  explicit TestFiles(FileSystem& inner, ErrorOf error_of = {})
      : inner_(&inner), error_of_(std::move(error_of)) {}

  /// Restarts the count of calls, and lets calls fail for which `error_of` returns an errno. A close that
  /// fails still closes the file. drop_cache and free_space always succeed and are not counted.
  void fail(ErrorOf error_of = {});
  /// Number of calls since fail().
  std::uint64_t calls() const { return calls_; }
  /// Whether each pread returns a wrong bit, unless the file may be in the cache: drop_cache was not called.
  void flip_bits(bool flip) { flips_bits_ = flip; }

  // The following functions are for the disk in memory only.

  /// State after a crash now: all durable changes and a selection of the later ones, in their order. A write
  /// consists of a change of the file's size and one change for each 512 bytes of the file. Choice 0 selects
  /// none, 1 all, others a pseudo-random set: the first few, or each with a certain probability.
  std::unique_ptr<TestFiles> crash(std::uint64_t choice) const;
  /// Number of changes that are not durable yet.
  std::size_t unsynced() const;
  /// Makes all changes durable.
  void sync_all();
  /// Total bytes of all files, including removed files that are still open.
  std::uint64_t used() const;
  /// Lets writes beyond `bytes` in all files together fail with ENOSPC, after the part for which there is
  /// room.
  void limit(std::uint64_t bytes);
  /// Contents of a file; fails the test if it does not exist.
  std::string contents(const Path& path) const;
  /// Creates or replaces a file, durably.
  void put(const Path& path, const std::string& contents);

  int open(const Path& path, int flags) override;
  int close(int descriptor) override;
  ssize_t read(int descriptor, void* data, std::size_t bytes) override;
  ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override;
  ssize_t write(int descriptor, const void* data, std::size_t bytes) override;
  int fsync(int descriptor) override;
  int lock(int descriptor) override;
  int ftruncate(int descriptor, std::uint64_t size) override;
  int fstat(int descriptor, FileStatus& status) override;
  void drop_cache(int descriptor) override;
  int free_space(const Path& path, std::uint64_t& bytes) override;
  int stat(const Path& path, FileStatus& status) override;
  int rename(const Path& from, const Path& to) override;
  int unlink(const Path& path) override;
  int mkdir(const Path& path) override;
  int rmdir(const Path& path) override;
  int list(const Path& path, std::vector<std::string>& names, std::vector<std::string>* folders) override;

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
    bool locks = false;
  };

  static void apply(const Change& change, Tree& tree);
  void make(Change change);
  /// Node at `path`; 0 with errno: none.
  Id find(const Path& path) const;
  /// Folder and last name of `path`; folder 0 with errno: no such folder.
  Place place_of(const Path& path) const;
  Id entry(const Place& place) const;
  Id create(const Place& place, FileKind kind);
  int remove(const Path& path, FileKind kind);
  FileStatus status_of(Id node) const;
  Handle* handle(int descriptor);
  int open_in_memory(const Path& path, int flags);
  ssize_t read_at(const Handle& file, void* data, std::size_t bytes, std::uint64_t offset) const;
  std::uint64_t used_now() const;
  /// Whether the call has to fail; if so, sets errno.
  bool fails(const char* name, const Path& path, bool writes = false);
  bool fails(const char* name, int descriptor, bool writes = false);

  FileSystem* inner_ = nullptr;  ///< null: the disk in memory
  ErrorOf error_of_;
  mutable std::mutex mutex_;
  std::uint64_t calls_ = 0;
  std::map<int, Path> open_;
  std::set<int> uncached_;  ///< open files for which drop_cache was called
  bool flips_bits_ = false;

  Tree now_;
  Tree durable_;
  std::vector<Change> unsynced_;  ///< changes from durable_ to now_
  std::map<int, Handle> handles_;
  Id next_node_ = 2;
  int next_descriptor_ = 1000;
  std::uint64_t limit_ = ~std::uint64_t{0};
};

/// For TestFiles::fail: call `number` fails with `reason`; with `later`, all later ones too.
inline TestFiles::ErrorOf fail_call(std::uint64_t number, int reason, bool later = false) {
  return [=](const FileCall& call) {
    return call.number == number || (later && call.number > number) ? reason : 0;
  };
}

/// For TestFiles::fail: a signal interrupts the first call of `name`.
inline TestFiles::ErrorOf interrupt_first(const std::string& name) {
  return [name, interrupted = false](const FileCall& call) mutable {
    return call.name == name && !std::exchange(interrupted, true) ? EINTR : 0;
  };
}

/// Runs `work` on `disk`, which is in memory. Before each call of a file system that it makes, and at its
/// end, the machine crashes `choices` times (TestFiles::crash), and `check` runs on the disk after each
/// crash. Returns the number of checks.
std::uint64_t crash_everywhere(TestFiles& disk, std::uint64_t choices, const std::function<void()>& work,
                               const std::function<void()>& check);

/// Runs `work` on a disk in memory that `prepare` fills: without a failure, and then once for each call of a
/// file system that it has made; that call fails with `reason`. Expects that `work` succeeds or throws
/// Error(resource) with the reason's text, and runs `check(disk, call, error)` on the disk with the failed
/// call ("fsync /a") and the message, which is empty after a success.
void fail_everywhere(int reason, const std::function<void(TestFiles&)>& prepare,
                     const std::function<void()>& work,
                     const std::function<void(TestFiles&, const std::string&, const std::string&)>& check);

}  // namespace lockstep
