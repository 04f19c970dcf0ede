#include "supervisor/mpirun_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "supervisor/mpirun_command.h"
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
  EXPECT_EQ(list(MpirunOptions({"--hosts", "a:2,b,b"})), "a:2 b:0 ");
  EXPECT_EQ(list(MpirunOptions({"--hostfile", file})), "a:4 b.example:2 c:0 ");
  for (const char* option : {"-H", "--host", "--hosts"}) {
    EXPECT_EQ(list(MpirunOptions({"--hostfile", file, option, "c:1,a:2"})), "c:1 a:2 ") << option;
  }
  EXPECT_EQ(list(MpirunOptions({"--hostfile", (folder / "none").string()})), "");
  EXPECT_NO_THROW(MpirunOptions({"--hostfile", file, "--default-hostfile", "none"}).check_hosts());
  expect_error(Category::usage, {"--machinefile: cannot open '", "/none': No such file"}, [&] {
    MpirunOptions({"--machinefile", (folder / "none").string()}).check_hosts();
  });
}

TEST(MpirunOptions, FilesOfHostsHaveTheWordsOfMpirun) {
  const TemporaryFolder folder;
  const std::string file = folder.write("hosts",
                                        "a slots = 2 // fast\n/* two\nlines */\nb max-slots=4\n"
                                        "c count=3\n::1 cpu=1\nhead slots=0\nd 2\ne fast slots=1\n"
                                        "rank 0=f slot=1\nrank 1 = f slot=0:1\n");
  EXPECT_EQ(list(MpirunOptions({"--hostfile", file})), "a:2 b:0 c:3 ::1:1 d:0 e:1 f:2 ");
  EXPECT_NO_THROW(MpirunOptions({"--hostfile", file}).check_hosts());
  const std::string blanks(300000, ' '), letters(300000, 'x');
  folder.write("hosts",
               "# " + letters + "\n/*" + letters + "*/ a slots" + blanks + "=" + blanks + "2 /* open\n");
  EXPECT_EQ(list(MpirunOptions({"--hostfile", file})), "a:2 ") << "std::regex would end the stack";
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : std::vector<Row>{
           {"a\n# b\nc slot=2\n", "/hosts:3: 'slot=2' is wrong: write lines as"},
           {"a slots=abc\n", "/hosts:1: 'slots=abc' is wrong: write lines"},
           {"a slots=\n", "/hosts:1: 'slots=' is wrong"},
           {"a slots=-1\n", "/hosts:1: 'slots=-1' is wrong"},
           {"a slots 2\n", "/hosts:1: 'slots' is wrong"},
           {"/* two\nlines */ a\n/* b\n\n*/c slot=2\n", "/hosts:5: 'slot=2' is wrong"},
           {"slots=2\n", "/hosts:1: 'slots=2' is wrong"},
           {"a:2\n", "/hosts:1: 'a:2' is wrong: write a slots=2"},
           {"a port=22\n", "/hosts:1: 'port=22' is wrong: write users and ports in ~/.ssh/config"},
           {"a slots=1 username = me\n", "/hosts:1: 'username=me' is wrong: write users and ports"},
           {"me@a slots=1\n", "/hosts:1: 'me@a' is wrong: write users and ports in ~/.ssh/config"},
           {"# none\n", "/hosts: names no host; write lines as a slots=2"},
           {"", "/hosts: names no host"}}) {
    folder.write("hosts", row.text);
    expect_error(Category::usage, {"--hostfile: ", row.message}, [&] {
      MpirunOptions({"--hostfile", file}).check_hosts();
    });
  }
  EXPECT_NO_THROW(MpirunOptions({"--default-hostfile", file}).check_hosts()) << "Open MPI's is empty";
  expect_error(Category::usage, {"names no host"}, [&] {
    MpirunOptions({"--hostfile", folder.string()}).check_hosts();
  });
}

TEST(MpirunOptions, HostsOfAPipeAreReadOnce) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = "a slots=2\nb\n";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  MpirunOptions options({"--hostfile", "/dev/fd/" + std::to_string(ends[0]), "-np", "2"});
  options.check_hosts();
  close(ends[0]);
  EXPECT_EQ(options.words(), (Words{"--host", "a:2,b:*", "-np", "2"}));
  EXPECT_EQ(list(options), "a:2 b:0 ");
}

TEST(MpirunOptions, HostsWithoutANameOrWithAWrongNumberAreRefused) {
  for (const char* list : {"", "a,,b", "a,", ":2", "a:", "a:x", "a:0", "a:-1", "a:2:3"}) {
    expect_error(Category::usage, {"--hosts: '", "is no host; write them as a:2,b:2 or a,b"}, [&] {
      MpirunOptions({"--hosts", list}).check_hosts();
    });
  }
  EXPECT_NO_THROW(MpirunOptions({"--hosts", "a:2,b"}).check_hosts());
  for (const char* option : {"-H", "--host", "--hosts"}) {
    expect_error(Category::usage,
                 {std::string(option) + ": 'me@b:2' is wrong: write users and ports in ~/.ssh/config"}, [&] {
                   MpirunOptions({option, "a,me@b:2"}).check_hosts();
                 });
  }
}

TEST(MpirunOptions, ParametersComeFromOptionsOrTheEnvironment) {
  MpirunOptions options({"--mca", "plm_rsh_args", "-p 22", "-x", "mca", "--mca", "plm_rsh_args", "-p 23"});
  EXPECT_EQ(options.parameter("plm_rsh_args"), "-p 23");
  EXPECT_EQ(options.values({"x"}), Words{"mca"});
  setenv("OMPI_MCA_plm_rsh_agent", "rsh", 1);
  EXPECT_EQ(options.parameter("plm_rsh_agent"), "rsh");
  options.append({"--mca", "plm_rsh_agent", "ssh"});
  EXPECT_EQ(options.parameter("plm_rsh_agent"), "ssh");
  unsetenv("OMPI_MCA_plm_rsh_agent");
  EXPECT_EQ(options.parameter("btl"), std::nullopt);
}

TEST(RemoteShell, IsThatOfMpirun) {
  EXPECT_EQ(remote_shell(
                MpirunOptions({"--mca", "plm_rsh_agent", "/no/such : sh -e", "--mca", "plm_rsh_args", "-x"})),
            (Words{find_program("sh", {}), "-e", "-x"}));
  expect_error(Category::resource, {"no program to start ranks on other hosts (/no/such)", "openssh-client"},
               [] {
                 remote_shell(MpirunOptions({"--mca", "plm_rsh_agent", "/no/such"}));
               });
}

TEST(MpirunOptions, OneListReplacesAllHosts) {
  MpirunOptions options({"--hostfile", "hosts", "-np", "2", "-H", "a", "--hosts", "c", "--tag-output"});
  options.set_hosts({{"b", 2}, {"c", 0}});
  EXPECT_EQ(options.words(), (Words{"-np", "2", "--tag-output", "--host", "b:2,c:*"}));
}

TEST(MpirunOptions, TableOfSlotsAndRanks) {
  struct Row {
    std::vector<int> slots;  // slots of hosts a, b, ...; 0: not given
    int ranks;               // -np; 0: not given
    std::vector<int> filled, started;
  };
  const std::vector<Row> table = {
      {{2, 2}, 0, {2, 2}, {2, 2}},          {{2, 2}, 3, {2, 2}, {2, 1}}, {{2, 2}, 1, {2, 2}, {1, 0}},
      {{0, 0}, 0, {1, 2}, {1, 2}},          {{0, 0}, 5, {3, 2}, {3, 2}}, {{4, 0}, 6, {4, 2}, {4, 2}},
      {{4, 0}, 0, {4, 2}, {4, 2}},          {{4, 0}, 4, {4, 1}, {4, 0}}, {{0, 0, 0}, 7, {3, 2, 2}, {3, 2, 2}},
      {{0, 0, 0}, 2, {1, 1, 1}, {1, 1, 0}},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(testing::PrintToString(row.slots) + ", " + std::to_string(row.ranks));
    std::vector<MpirunOptions::Host> hosts;
    for (const int slots : row.slots) hosts.push_back({.name = "a", .slots = slots});
    fill_slots(hosts, row.ranks, {1, 2, 3});
    std::vector<int> filled;
    for (const MpirunOptions::Host& host : hosts) filled.push_back(host.slots);
    EXPECT_EQ(filled, row.filled);
    EXPECT_EQ(ranks_of_hosts(hosts, row.ranks), row.started);
  }
  std::vector<MpirunOptions::Host> few = {{.name = "a", .slots = 2}, {.name = "b", .slots = 1}};
  expect_error(Category::usage, {"4 ranks on hosts with 3 slots"}, [&] { fill_slots(few, 4, {1, 1}); });
}

}  // namespace
}  // namespace lockstep::launcher
