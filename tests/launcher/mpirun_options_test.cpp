#include "supervisor/mpirun_options.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep::launcher {
namespace {

using Words = std::vector<std::string>;

std::string list(const MpirunOptions& options) {
  std::string text;
  for (const MpirunOptions::Host& host : options.hosts())
    text += host.name + ":" + std::to_string(host.slots) + " ";
  return text;
}

TEST(MpirunOptions, ValuesAreNotOptions) {
  const MpirunOptions options({"-x", "--bind-to", "--report-uri", "-np", "-np", "3", "--map-by=node"});
  EXPECT_FALSE(options.has({"bind-to"}));
  EXPECT_TRUE(options.has({"bind-to", "map-by"}));
  EXPECT_EQ(options.ranks(), 3);
}

TEST(MpirunOptions, RanksAreSetWhereTheyAreGiven) {
  for (const char* name : {"-np", "--np", "-n", "--n", "-c"}) {
    MpirunOptions options({"--tag-output", name, "4", "-x", "A"});
    EXPECT_EQ(options.ranks(), 4) << name;
    options.set_ranks(3);
    EXPECT_EQ(options.words(), (Words{"--tag-output", name, "3", "-x", "A"}));
  }
  EXPECT_EQ(MpirunOptions({"--tag-output"}).ranks(), 0);
  EXPECT_EQ(MpirunOptions({"-np", "many"}).ranks(), 0);
  EXPECT_EQ(MpirunOptions(Words{"-np"}).ranks(), 0);
}

TEST(MpirunOptions, HostsOfListsAndFiles) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("hosts", "# two\na slots=4\n\nb.example  slots=2 max_slots=8 # slow\nc\n");
  EXPECT_EQ(list(MpirunOptions({"-np", "2"})), "");
  EXPECT_EQ(list(MpirunOptions({"-H", "a:2,b", "--host", "b,c:x"})), "a:2 b:2 c:0 ");
  EXPECT_EQ(list(MpirunOptions({"--hostfile", file})), "a:4 b.example:2 c:0 ");
  EXPECT_EQ(list(MpirunOptions({"--hostfile", (folder / "none").string()})), "");
  EXPECT_NO_THROW(MpirunOptions({"--hostfile", file, "--default-hostfile", "none"}).check_host_files());
  expect_error(Category::usage, {"--machinefile: cannot open '", "/none': No such file"}, [&] {
    MpirunOptions({"--machinefile", (folder / "none").string()}).check_host_files();
  });
}

TEST(MpirunOptions, OneListReplacesAllHosts) {
  MpirunOptions options({"--hostfile", "hosts", "-np", "2", "-H", "a", "--tag-output"});
  options.set_hosts({{"b", 2}, {"c", 0}});
  EXPECT_EQ(options.words(), (Words{"-np", "2", "--tag-output", "--host", "b:2,c:*"}));
}

}  // namespace
}  // namespace lockstep::launcher
