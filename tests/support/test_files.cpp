#include "support/test_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "support/expect_error.h"

namespace lockstep {
namespace {

constexpr std::uint64_t sector = 512;
constexpr std::uint64_t root = 1;

int fail_with(int reason) {
  errno = reason;
  return -1;
}

bool writable(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

/// Decides which of `count` changes a crash keeps.
std::vector<bool> chosen(std::uint64_t choice, std::size_t count) {
  std::vector<bool> keep(count, choice == 1);
  if (choice < 2) return keep;
  std::mt19937_64 random(choice);
  if (random() % 4 == 0) {
    std::fill_n(keep.begin(), random() % (count + 1), true);
    return keep;
  }
  const std::uint64_t of_sixteen = random() % 15 + 1;
  for (std::size_t i = 0; i < count; ++i) keep[i] = random() % 16 < of_sixteen;
  return keep;
}

}  // namespace

TestFiles::TestFiles() {
  now_[root].kind = FileKind::folder;
  durable_ = now_;
}

void TestFiles::apply(const Change& change, Tree& tree) {
  const auto remove = [&](const Place& place) {
    auto& entries = tree[place.folder].entries;
    const auto found = entries.find(place.name);
    if (found != entries.end() && found->second == change.node) entries.erase(found);
  };
  switch (change.kind) {
    case Change::Kind::resize:
      tree[change.node].data.resize(change.at);
      break;
    case Change::Kind::write: {
      std::string& data = tree[change.node].data;
      if (change.at >= data.size()) break;  // the change of its size is lost
      data.replace(change.at, std::min(change.data.size(), data.size() - change.at), change.data, 0,
                   data.size() - change.at);
      break;
    }
    case Change::Kind::link:
      tree[change.node].kind = change.of;
      tree[change.place.folder].entries[change.place.name] = change.node;
      break;
    case Change::Kind::unlink:
      remove(change.place);
      break;
    case Change::Kind::move:
      remove(change.from);
      tree[change.node].kind = change.of;
      tree[change.place.folder].entries[change.place.name] = change.node;
      break;
  }
  // The folder of a change may be missing, if its mkdir was lost.
  if (change.place.folder != 0) tree[change.place.folder].kind = FileKind::folder;
}

void TestFiles::make(Change change) {
  apply(change, now_);
  unsynced_.push_back(std::move(change));
}

std::unique_ptr<TestFiles> TestFiles::crash(std::uint64_t choice) const {
  const std::lock_guard lock(mutex_);
  auto after = std::make_unique<TestFiles>();
  after->durable_ = durable_;
  const std::vector<bool> keep = chosen(choice, unsynced_.size());
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    if (keep[i]) apply(unsynced_[i], after->durable_);
  }
  after->now_ = after->durable_;
  after->next_node_ = next_node_;
  return after;
}

std::size_t TestFiles::unsynced() const {
  const std::lock_guard lock(mutex_);
  return unsynced_.size();
}

void TestFiles::sync_all() {
  const std::lock_guard lock(mutex_);
  durable_ = now_;
  unsynced_.clear();
}

std::uint64_t TestFiles::used() const {
  const std::lock_guard lock(mutex_);
  return used_now();
}

void TestFiles::limit(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::string TestFiles::contents(const Path& path) const {
  const std::lock_guard lock(mutex_);
  const Id node = find(path);
  if (node == 0 || now_.at(node).kind != FileKind::file) {
    ADD_FAILURE() << path << ": no such file";
    return {};
  }
  return now_.at(node).data;
}

void TestFiles::put(const Path& path, const std::string& contents) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC);
  ASSERT_GE(descriptor, 0) << path;
  ASSERT_EQ(write(descriptor, contents.data(), contents.size()), static_cast<ssize_t>(contents.size()));
  close(descriptor);
  sync_all();
}

TestFiles::Id TestFiles::find(const Path& path) const {
  Id node = root;
  for (const Path& part : path.lexically_normal().relative_path()) {
    if (part.empty() || part == ".") continue;
    if (now_.at(node).kind != FileKind::folder) {
      errno = ENOTDIR;
      return 0;
    }
    node = entry({node, part.string()});
    if (node == 0) {
      errno = ENOENT;
      return 0;
    }
  }
  return node;
}

TestFiles::Place TestFiles::place_of(const Path& path) const {
  Path normal = path.lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  Place place{find(normal.parent_path()), normal.filename().string()};
  if (place.folder != 0 && now_.at(place.folder).kind != FileKind::folder) {
    errno = ENOTDIR;
    place.folder = 0;
  }
  return place;
}

TestFiles::Id TestFiles::entry(const Place& place) const {
  const auto& entries = now_.at(place.folder).entries;
  const auto found = entries.find(place.name);
  return found == entries.end() ? 0 : found->second;
}

TestFiles::Id TestFiles::create(const Place& place, FileKind kind) {
  make({.kind = Change::Kind::link, .node = next_node_, .place = place, .of = kind});
  return next_node_++;
}

int TestFiles::remove(const Path& path, FileKind kind) {
  const std::lock_guard lock(mutex_);
  const Place place = place_of(path);
  if (place.folder == 0) return -1;
  const Id node = entry(place);
  if (node == 0) return fail_with(ENOENT);
  if (now_.at(node).kind != kind) return fail_with(kind == FileKind::file ? EISDIR : ENOTDIR);
  if (!now_.at(node).entries.empty()) return fail_with(ENOTEMPTY);
  make({.kind = Change::Kind::unlink, .node = node, .place = place});
  return 0;
}

FileStatus TestFiles::status_of(Id node) const {
  const Node& found = now_.at(node);
  return {.kind = found.kind, .size = found.data.size(), .device = 1, .inode = node};
}

TestFiles::Handle* TestFiles::handle(int descriptor) {
  const auto found = handles_.find(descriptor);
  if (found != handles_.end()) return &found->second;
  errno = EBADF;
  return nullptr;
}

std::uint64_t TestFiles::used_now() const {
  std::set<Id> present;
  for (const auto& [id, node] : now_) {
    for (const auto& [name, entry] : node.entries) present.insert(entry);
  }
  for (const auto& [descriptor, file] : handles_) present.insert(file.node);
  std::uint64_t bytes = 0;
  for (const Id id : present) bytes += now_.at(id).data.size();
  return bytes;
}

void TestFiles::fail(ErrorOf error_of) {
  error_of_ = std::move(error_of);
  calls_ = 0;
}

bool TestFiles::fails(const char* name, const Path& path, bool writes) {
  FileCall call{.name = name, .path = path, .writes = writes};
  {
    const std::lock_guard lock(mutex_);
    call.number = ++calls_;
  }
  const int reason = error_of_ ? error_of_(call) : 0;
  if (reason != 0) errno = reason;
  return reason != 0;
}

bool TestFiles::fails(const char* name, int descriptor, bool writes) {
  Path path;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(descriptor);
    if (found != open_.end()) path = found->second;
  }
  return fails(name, path, writes);
}

void TestFiles::drop_cache(int descriptor) {
  const std::lock_guard lock(mutex_);
  uncached_.insert(descriptor);
  if (inner_ != nullptr) inner_->drop_cache(descriptor);
}

int TestFiles::free_space(const Path& path, std::uint64_t& bytes) {
  if (inner_ != nullptr) return inner_->free_space(path, bytes);
  bytes = limit_ - std::min(limit_, used());
  return 0;
}

int TestFiles::open(const Path& path, int flags) {
  if (fails("open", path, (flags & O_CREAT) != 0)) return -1;
  const int descriptor = inner_ != nullptr ? inner_->open(path, flags) : open_in_memory(path, flags);
  const std::lock_guard lock(mutex_);
  if (descriptor >= 0) open_[descriptor] = path;
  return descriptor;
}

int TestFiles::open_in_memory(const Path& path, int flags) {
  const std::lock_guard lock(mutex_);
  const Place place = place_of(path);
  if (place.folder == 0) return -1;
  Id node = place.name.empty() ? root : entry(place);
  if (node != 0 && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return fail_with(EEXIST);
  if (node == 0 && (flags & O_CREAT) == 0) return fail_with(ENOENT);
  if (node == 0) node = create(place, FileKind::file);
  const FileKind kind = now_.at(node).kind;
  if (kind == FileKind::folder && writable(flags)) return fail_with(EISDIR);
  if (kind == FileKind::file && (flags & O_DIRECTORY) != 0) return fail_with(ENOTDIR);
  if ((flags & O_TRUNC) != 0) make({.kind = Change::Kind::resize, .node = node});
  handles_[next_descriptor_] = {.node = node, .flags = flags};
  return next_descriptor_++;
}

int TestFiles::close(int descriptor) {
  const bool failed = fails("close", descriptor, true);
  const int reason = errno;
  int result = 0;
  {
    const std::lock_guard lock(mutex_);
    open_.erase(descriptor);
    uncached_.erase(descriptor);
    if (inner_ == nullptr && handles_.erase(descriptor) != 1) result = fail_with(EBADF);
  }
  if (inner_ != nullptr) result = inner_->close(descriptor);
  return failed ? fail_with(reason) : result;
}

ssize_t TestFiles::read(int descriptor, void* data, std::size_t bytes) {
  if (fails("read", descriptor)) return -1;
  if (inner_ != nullptr) return inner_->read(descriptor, data, bytes);
  const std::lock_guard lock(mutex_);
  Handle* file = handle(descriptor);
  const ssize_t count = file == nullptr ? -1 : read_at(*file, data, bytes, file->offset);
  if (count > 0) file->offset += static_cast<std::uint64_t>(count);
  return count;
}

ssize_t TestFiles::read_at(const Handle& file, void* data, std::size_t bytes, std::uint64_t offset) const {
  const Node& node = now_.at(file.node);
  if (node.kind == FileKind::folder) return fail_with(EISDIR);
  if ((file.flags & O_ACCMODE) == O_WRONLY) return fail_with(EBADF);
  if (offset >= node.data.size()) return 0;
  return static_cast<ssize_t>(node.data.copy(static_cast<char*>(data), bytes, offset));
}

ssize_t TestFiles::pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) {
  if (fails("pread", descriptor)) return -1;
  ssize_t count = -1;
  if (inner_ != nullptr) {
    count = inner_->pread(descriptor, data, bytes, offset);
  } else {
    const std::lock_guard lock(mutex_);
    const Handle* file = handle(descriptor);
    if (file != nullptr) count = read_at(*file, data, bytes, offset);
  }
  const std::lock_guard lock(mutex_);
  if (flips_bits_ && uncached_.contains(descriptor) && count > 0) static_cast<char*>(data)[count / 2] ^= 1;
  return count;
}

ssize_t TestFiles::write(int descriptor, const void* data, std::size_t bytes) {
  if (fails("write", descriptor, true)) return -1;
  if (inner_ != nullptr) return inner_->write(descriptor, data, bytes);
  const std::lock_guard lock(mutex_);
  Handle* file = handle(descriptor);
  if (file == nullptr) return -1;
  if (!writable(file->flags)) return fail_with(EBADF);
  const std::uint64_t size = now_.at(file->node).data.size();
  std::uint64_t at = (file->flags & O_APPEND) != 0 ? size : file->offset;
  std::uint64_t end = at + bytes;
  if (end > size) {
    const std::uint64_t before = used_now();
    const std::uint64_t room = limit_ > before ? limit_ - before : 0;
    end = std::min(end, size + room);
    if (bytes > 0 && end <= at) return fail_with(ENOSPC);
    make({.kind = Change::Kind::resize, .node = file->node, .at = std::max(size, end)});
  }
  const char* next = static_cast<const char*>(data);
  const std::uint64_t begin = at;
  while (at < end) {
    const std::uint64_t part = std::min(end, (at / sector + 1) * sector) - at;
    make({.kind = Change::Kind::write, .node = file->node, .at = at, .data = std::string(next, part)});
    next += part;
    at += part;
  }
  file->offset = end;
  return static_cast<ssize_t>(end - begin);
}

int TestFiles::fsync(int descriptor) {
  if (fails("fsync", descriptor, true)) return -1;
  if (inner_ != nullptr) return inner_->fsync(descriptor);
  const std::lock_guard lock(mutex_);
  const Handle* file = handle(descriptor);
  if (file == nullptr) return -1;
  const Id node = file->node;
  std::erase_if(unsynced_, [&](const Change& change) {
    const bool synced = change.place.folder == 0 ? change.node == node : change.place.folder == node;
    if (synced) apply(change, durable_);
    return synced;
  });
  return 0;
}

int TestFiles::lock(int descriptor) {
  if (fails("lock", descriptor)) return -1;
  if (inner_ != nullptr) return inner_->lock(descriptor);
  const std::lock_guard lock(mutex_);
  Handle* file = handle(descriptor);
  if (file == nullptr) return -1;
  const bool is_locked = std::ranges::any_of(handles_, [&](const auto& other) {
    return &other.second != file && other.second.node == file->node && other.second.locks;
  });
  if (is_locked) return fail_with(EWOULDBLOCK);
  file->locks = true;
  return 0;
}

int TestFiles::ftruncate(int descriptor, std::uint64_t size) {
  if (fails("ftruncate", descriptor, true)) return -1;
  if (inner_ != nullptr) return inner_->ftruncate(descriptor, size);
  const std::lock_guard lock(mutex_);
  const Handle* file = handle(descriptor);
  if (file == nullptr) return -1;
  if (!writable(file->flags)) return fail_with(EINVAL);
  make({.kind = Change::Kind::resize, .node = file->node, .at = size});
  return 0;
}

int TestFiles::fstat(int descriptor, FileStatus& status) {
  if (fails("fstat", descriptor)) return -1;
  if (inner_ != nullptr) return inner_->fstat(descriptor, status);
  const std::lock_guard lock(mutex_);
  const Handle* file = handle(descriptor);
  if (file == nullptr) return -1;
  status = status_of(file->node);
  return 0;
}

int TestFiles::stat(const Path& path, FileStatus& status) {
  if (fails("stat", path)) return -1;
  if (inner_ != nullptr) return inner_->stat(path, status);
  const std::lock_guard lock(mutex_);
  const Id node = find(path);
  if (node == 0) return -1;
  status = status_of(node);
  return 0;
}

int TestFiles::rename(const Path& from, const Path& to) {
  if (fails("rename", from, true)) return -1;
  if (inner_ != nullptr) return inner_->rename(from, to);
  const std::lock_guard lock(mutex_);
  const Place old_place = place_of(from), new_place = place_of(to);
  if (old_place.folder == 0 || new_place.folder == 0) return -1;
  const Id node = entry(old_place);
  if (node == 0) return fail_with(ENOENT);
  const Id replaced = entry(new_place);
  if (replaced == node) return 0;
  if (replaced != 0) {
    const Node& victim = now_.at(replaced);
    if (victim.kind == FileKind::folder && now_.at(node).kind != FileKind::folder) return fail_with(EISDIR);
    if (victim.kind != FileKind::folder && now_.at(node).kind == FileKind::folder) return fail_with(ENOTDIR);
    if (!victim.entries.empty()) return fail_with(ENOTEMPTY);
  }
  make({.kind = Change::Kind::move,
        .node = node,
        .place = new_place,
        .from = old_place,
        .of = now_.at(node).kind});
  return 0;
}

int TestFiles::unlink(const Path& path) {
  if (fails("unlink", path)) return -1;
  return inner_ != nullptr ? inner_->unlink(path) : remove(path, FileKind::file);
}

int TestFiles::mkdir(const Path& path) {
  if (fails("mkdir", path, true)) return -1;
  if (inner_ != nullptr) return inner_->mkdir(path);
  const std::lock_guard lock(mutex_);
  const Place place = place_of(path);
  if (place.folder == 0) return -1;
  if (place.name.empty() || entry(place) != 0) return fail_with(EEXIST);
  create(place, FileKind::folder);
  return 0;
}

int TestFiles::rmdir(const Path& path) {
  if (fails("rmdir", path)) return -1;
  return inner_ != nullptr ? inner_->rmdir(path) : remove(path, FileKind::folder);
}

int TestFiles::list(const Path& path, std::vector<std::string>& names, std::vector<std::string>* folders) {
  if (fails("list", path)) return -1;
  if (inner_ != nullptr) return inner_->list(path, names, folders);
  const std::lock_guard lock(mutex_);
  const Id node = find(path);
  if (node == 0) return -1;
  if (now_.at(node).kind != FileKind::folder) return fail_with(ENOTDIR);
  names.clear();
  if (folders != nullptr) folders->clear();
  for (const auto& [name, id] : now_.at(node).entries) {
    names.push_back(name);
    if (folders != nullptr && now_.at(id).kind == FileKind::folder) folders->push_back(name);
  }
  return 0;
}

std::uint64_t crash_everywhere(TestFiles& disk, std::uint64_t choices, const std::function<void()>& work,
                               const std::function<void()>& check) {
  std::uint64_t checks = 0;
  const auto crash = [&](const FileCall& call) {
    for (std::uint64_t i = 0; i < choices && !::testing::Test::HasFailure(); ++i) {
      const std::uint64_t choice = i < 2 ? i : call.number * choices + i;
      const std::unique_ptr<TestFiles> after = disk.crash(choice);
      const ScopedFiles replaced(*after);
      SCOPED_TRACE("choice " + std::to_string(choice) + " of the changes that survive a crash before call " +
                   std::to_string(call.number) + ", " + call.name + " " + call.path.string());
      check();
      ++checks;
    }
    return 0;
  };
  disk.fail(crash);
  {
    const ScopedFiles replaced(disk);
    work();
  }
  crash({.number = disk.calls() + 1, .name = "none"});
  disk.fail();
  return checks;
}

void fail_everywhere(int reason, const std::function<void(TestFiles&)>& prepare,
                     const std::function<void()>& work,
                     const std::function<void(TestFiles&, const std::string&, const std::string&)>& check) {
  std::uint64_t calls = 0;  // of the first run, in which none fails
  for (std::uint64_t number = 0; number <= calls; ++number) {
    TestFiles disk;
    const ScopedFiles replaced(disk);
    prepare(disk);
    std::string failed, message;
    disk.fail([&](const FileCall& call) {
      if (call.number != number) return 0;
      failed = call.name + " " + call.path.string();
      return reason;
    });
    const std::optional<Error> error = error_of(work);
    if (number == 0) calls = disk.calls();
    if (failed.empty()) {  // the first run, or one that makes fewer calls
      EXPECT_FALSE(error) << error->what();
      continue;
    }
    if (error) {
      message = error->what();
      EXPECT_EQ(error->category(), Category::resource) << message;
      test::expect_holds(message, std::generic_category().message(reason));
    }
    disk.fail();
    SCOPED_TRACE("fault in " + failed + (message.empty() ? "" : ", error " + message));
    check(disk, failed, message);
  }
  EXPECT_GT(calls, 3U) << "`work` does not use the replaced file system";
}

}  // namespace lockstep
