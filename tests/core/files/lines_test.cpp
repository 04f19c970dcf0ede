#include <gtest/gtest.h>

#include "core/files/line_reader.h"
#include "core/files/line_writer.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file, std::size_t max_bytes = 1024) {
  LineReader reader(file, max_bytes);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  EXPECT_EQ(reader.number(), lines.size());
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineReader, ReadsWholeLines) {
  const TemporaryFolder folder;
  EXPECT_EQ(lines_of(folder.write("f", "")), Lines{});
  EXPECT_EQ(lines_of(folder.write("f", "a\n\nb\n")), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of(folder.write("f", "a\nincomplete")), Lines{"a"});
  Lines many;
  std::string text;
  for (int i = 0; i < 30000; ++i) {
    many.push_back("line " + std::to_string(i));
    text += many.back() + "\n";
  }
  EXPECT_EQ(lines_of(folder.write("f", text)), many);
}

TEST(LineReader, RefusesLongLines) {
  const TemporaryFolder folder;
  const std::string line(2048, 'x');
  EXPECT_EQ(lines_of(folder.write("f", line + "\n"), 2048), Lines{line});
  for (const char* end : {"x\n", "x"}) {
    expect_error(Category::data, {(folder / "f").string() + ": line 2: longer than 2 KiB"},
                 [&] { lines_of(folder.write("f", "a\n" + line + end), 2048); });
  }
  expect_error(Category::data, {"longer than 2 KiB"},
               [&] { lines_of(folder.write("f", std::string(200000, 'x')), 2048); });
}

TEST(LineWriter, AppendsAfterTheLastWholeLine) {
  for (const std::string before : {"", "a\n", "a\nb\n"}) {
    for (const std::string& cut : {std::string(), std::string("incomplete"), std::string(10000, 'x')}) {
      TestFiles disk;
      disk.put("/f", before + cut);
      const ScopedFiles replaced(disk);
      LineWriter writer("/f");
      EXPECT_EQ(disk.contents("/f"), before);
      writer.append("c\n");
      writer.append("d\ne\n");
      EXPECT_EQ(disk.contents("/f"), before + "c\nd\ne\n");
    }
  }
}

TEST(LineWriter, FailuresNameFileActionAndReason) {
  expect_error(Category::resource, {"/no/such: cannot open: No such file or directory"},
               [] { LineWriter writer("/no/such"); });
  LineWriter full("/dev/full");
  expect_error(Category::resource, {"/dev/full: cannot write: No space left on device"},
               [&] { full.append("x\n"); });
}

TEST(LineWriter, InterruptedCallsAreMadeAgain) {
  for (const char* name : {"open", "pread", "ftruncate", "write"}) {
    TestFiles disk;
    disk.put("/f", "a\nincomplete");
    const ScopedFiles replaced(disk);
    disk.fail(interrupt_first(name));
    LineWriter writer("/f");
    writer.append("b\n");
    disk.fail([](const FileCall& call) { return call.name == "write" ? EIO : 0; });
    EXPECT_TRUE(error_of([&] { writer.append("lost\n"); }));
    disk.fail(interrupt_first(name));
    writer.append("c\n");
    EXPECT_EQ(disk.contents("/f"), "a\nb\nc\n");
  }
}

TEST(LineWriter, NeverCutsWholeLinesWhenACallFails) {
  fail_everywhere(
      EIO, [](TestFiles& disk) { disk.put("/f", "a\nb\n" + std::string(10000, 'x')); },
      [] { LineWriter("/f").append("c\n"); },
      [](TestFiles& disk, const std::string&, const std::string& error) {
        const std::string found = disk.contents("/f");
        EXPECT_TRUE(error.empty() ? found == "a\nb\nc\n" : found.starts_with("a\nb\n"));
      });
}

TEST(ReadText, ReadsSoManyBytesOfAnything) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_text(folder.write("f", "text"), 100), "text");
  EXPECT_EQ(read_text(folder / "f", 2), "te");
  EXPECT_EQ(read_text("/dev/zero", 10000), std::string(10000, '\0'));
  expect_error(Category::data, {"/no/such: cannot open: No such file or directory"},
               [] { read_text("/no/such", 1); });
  expect_error(Category::data, {folder.string() + ": cannot read: Is a directory"},
               [&] { read_text(folder.path(), 1); });
}

}  // namespace
}  // namespace lockstep
