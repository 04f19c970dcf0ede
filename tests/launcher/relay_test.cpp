#include "processes/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <vector>

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
    Relay relay(target.get(), "out", [&](std::string_view line) { lines.emplace_back(line); });
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
    Relay relay(target.get(), "out", nullptr, "<");
    const FileDescriptor writer(dup(relay.input()));
    relay.start();
    for (const char* part : {"first\nsec", "ond\n"}) write_all(writer.get(), part);
  }
  EXPECT_EQ(contents(folder / "out"), "<first\nsecond\n") << "not within a line";
}

/// More than a pipe holds: a writer would wait for ever.
TEST(Relay, ReadsOnWhereNobodyReadsTheCopy) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const FileDescriptor target(ends[1]);
  testing::internal::CaptureStderr();
  {
    Relay relay(target.get(), "stdout", nullptr);
    const FileDescriptor writer(dup(relay.input()));
    relay.start();
    for (int i = 0; i < 64; ++i) write_all(writer.get(), std::string(1 << 14, 'x'));
    EXPECT_TRUE(relay.is_unread());
    EXPECT_FALSE(relay.lost_output());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "lockstep-run prints it, or ends the ranks";
}

}  // namespace
}  // namespace lockstep::launcher
