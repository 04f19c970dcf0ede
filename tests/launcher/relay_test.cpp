#include "processes/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "processes/marked_lines.h"
#include "support/expect_error.h"
#include "support/no_threads.h"
#include "support/temporary_folder.h"

namespace lockstep::launcher {
namespace {

void write_all(int target, const std::string& text) {
  ASSERT_EQ(write(target, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Relay, CopiesBytesAndFindsLines) {
  const TemporaryFolder folder;
  const FileDescriptor target(open((folder / "out").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  std::vector<std::string> lines;
  {
    Relay relay(target.get(), [&](std::string_view line) { lines.emplace_back(line); });
    const FileDescriptor writer(dup(relay.input()));
    relay.start();
    for (const char* part : {"first li", "ne\nsecond\r\nthird\n\nwithout end"}) write_all(writer.get(), part);
  }
  EXPECT_EQ(contents(folder / "out"), "first line\nsecond\r\nthird\n\nwithout end");
  EXPECT_EQ(lines, (std::vector<std::string>{"first line", "second", "third"}));
}

TEST(Relay, ErasesWhatIsInItsLine) {
  const TemporaryFolder folder;
  const FileDescriptor target(open((folder / "out").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  {
    Relay relay(target.get(), nullptr, "<");
    const FileDescriptor writer(dup(relay.input()));
    relay.start();
    for (const char* part : {"first\nsec", "ond\n"}) write_all(writer.get(), part);
  }
  EXPECT_EQ(contents(folder / "out"), "<first\nsecond\n") << "not within a line";
}

TEST(Relay, SaysThatThereIsNoThread) {
  Relay relay(STDOUT_FILENO, nullptr);
  const NoThreads none;
  expect_error(Category::resource, {"cannot start a thread: Resource temporarily unavailable"},
               [&] { relay.start(); });
}

/// The output exceeds a pipe's capacity, so a writer would block forever if the relay stopped reading.
TEST(Relay, ReadsOnWhereNobodyReadsTheCopy) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const FileDescriptor target(ends[1]);
  Relay relay(target.get(), nullptr);
  const FileDescriptor writer(dup(relay.input()));
  relay.start();
  for (int i = 0; i < 64; ++i) write_all(writer.get(), std::string(1 << 14, 'x'));
  EXPECT_EQ(relay.failure(), EPIPE);
}

TEST(MarkedLines, AreTakenOutHoweverTheStreamIsCut) {
  const std::string stream =
      "progress\rlockstep-1a b c\nlockstep-1b\n[1,0]<stderr>:lockstep-1a d\nend lockst";
  for (std::size_t length = 1; length <= stream.size(); ++length) {
    std::vector<std::string> lines;
    MarkedLines marked("lockstep-1a ", [&](std::string_view line) { lines.emplace_back(line); });
    std::string passed;
    for (std::size_t at = 0; at < stream.size(); at += length)
      passed += marked.pass(stream.substr(at, length));
    passed += marked.rest();
    EXPECT_EQ(lines, (std::vector<std::string>{"b c", "d"}));
    if (length == stream.size()) {  // in pieces, mpirun's tag may be passed on before the text after it
      EXPECT_EQ(passed, "progress\rlockstep-1b\nend lockst");
    }
    EXPECT_EQ(passed.find("lockstep-1a"), std::string::npos);
  }
  EXPECT_EQ(MarkedLines({}, {}).pass("all"), "all");
}

}  // namespace
}  // namespace lockstep::launcher
