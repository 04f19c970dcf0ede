#include "hosts/host_report.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/json/json.h"

namespace lockstep::launcher {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

HostFacts facts(const std::string& name, const std::string& address) {
  return {.version = "0.1.0",
          .revision = "abc",
          .mpi = "Open MPI v4.1.4",
          .name = name,
          .identity = name + " 1",
          .has_mpirun = true,
          .memory_free = 8 * gib,
          .shared_free = 4 * gib,
          .disk_free = 100 * gib,
          .clock = 1'700'000'000'000,
          .processors = 8,
          .nodes = 1,
          .interfaces = {{.name = "eth0", .address = address, .prefix = 24, .is_default = true}}};
}

HostAnswer answer(const std::string& host, const std::string& address) {
  const HostAnswer::Time asked{std::chrono::seconds(1'700'000'000)};
  return {.host = host,
          .ranks = 2,
          .facts = facts(host, address),
          .data = DataFacts{.name = "images", .fingerprint = "0123456789"},
          .asked = asked,
          .answered = asked + std::chrono::seconds(1)};
}

/// Two hosts without problems. This machine is the first.
struct TwoHosts {
  std::vector<HostAnswer> answers{answer("a", "10.0.0.1"), answer("b", "10.0.0.2")};
  ExpectedHost expected{.here = facts("a", "10.0.0.1"),
                        .interface = "",
                        .directory = "/work",
                        .mpirun = "/usr/bin/mpirun",
                        .data = true};
  HostReport report() const { return report_on(answers, expected); }
};

/// A change to two hosts without problems, and the problem that it causes, if any.
struct Change {
  std::string sentence;
  std::function<void(TwoHosts&, HostFacts& of_b)> change;
  std::optional<Category> status = {};  // empty: the run is possible
};

TEST(HostReport, TableOfProblems) {
  const auto other_clock = [](int seconds) {
    return [seconds](TwoHosts&, HostFacts& b) { b.clock += static_cast<std::uint64_t>(seconds * 1000); };
  };
  const std::vector<Change> table = {
      {"", [](TwoHosts&, HostFacts&) {}},
      {"host b has version 0.0.9, this machine 0.1.0; install the same build of lockstep on all hosts",
       [](TwoHosts&, HostFacts& b) { b.version = "0.0.9"; }, Category::usage},
      {"host b has revision abd, this machine abc; install the same build of lockstep on all hosts",
       [](TwoHosts&, HostFacts& b) { b.revision = "abd"; }, Category::usage},
      {"host b has MPI MPICH 4, this machine Open MPI v4.1.4; install the same MPI library on all hosts",
       [](TwoHosts&, HostFacts& b) { b.mpi = "MPICH 4"; }, Category::usage},
      {"host b is the same host as a; name it once, with all its ranks: a:N",
       [](TwoHosts&, HostFacts& b) { b.identity = "a 1"; }, Category::usage},
      {"host b cannot start in /work: No such file or directory; start in a folder that all hosts have, or "
       "share this one",
       [](TwoHosts&, HostFacts& b) { b.directory_error = "No such file or directory"; }, Category::resource},
      {"host b has 255 MiB left on the disk of /work; make room for checkpoints",
       [](TwoHosts&, HostFacts& b) { b.disk_free = 255 << 20; }},
      {"host b has no orted beside /usr/bin/mpirun; install openmpi-bin",
       [](TwoHosts&, HostFacts& b) { b.has_mpirun = false; }, Category::resource},
      {"host b has no interface ib0, but eth0 10.0.0.2; name one that all hosts have, or their network: "
       "--interface 10.0.0.0/24",
       [](TwoHosts& hosts, HostFacts&) {
         hosts.expected.interface = "ib0";
         hosts.answers[0].facts->interfaces[0].name = "ib0";
       },
       Category::usage},
      {"host b was still reading its data when the time was over; ranks compare them when they start",
       [](TwoHosts& hosts, HostFacts&) { hosts.answers[1].data.reset(); }},
      {"host b cannot open its data: /data: no such folder; copy them there, or share them",
       [](TwoHosts& hosts, HostFacts&) {
         hosts.answers[1].data->error = "/data: no such folder";
         hosts.answers[1].data->status = 3;
       },
       Category::data},
      {"host b cannot open its data: x; copy them there, or share them",
       [](TwoHosts& hosts, HostFacts&) {
         hosts.answers[1].data->error = "x";
         hosts.answers[1].data->status = 99;
       },
       Category::data},
      {"host b has other data than a; copy them again, or share one folder",
       [](TwoHosts& hosts, HostFacts&) { hosts.answers[1].data->fingerprint = "x"; }, Category::data},
      {"host b gets 2 ranks on 1 core; start fewer: they are faster, and give the same bits",
       [](TwoHosts&, HostFacts& b) { b.processors = 1; }},
      {"host b gets 2 ranks for 1 GPU; start one per GPU", [](TwoHosts&, HostFacts& b) { b.gpus = 1; }},
      {"host b has 511 MiB of free memory; end other programs there",
       [](TwoHosts&, HostFacts& b) { b.memory_free = 511 << 20; }},
      {"host b has 20 MiB left in /dev/shm; make it larger, or remove files that other programs left there",
       [](TwoHosts&, HostFacts& b) { b.shared_free = 20 << 20; }},
      {"host b has a clock that is 3599 s ahead; set it, as by NTP: the run does not depend on it, but the "
       "times of files and logs do",
       other_clock(3600)},
      {"host b has a clock that is 60 s behind; set it, as by NTP: the run does not depend on it, but the "
       "times of files and logs do",
       other_clock(-60)},
      {"", other_clock(2)},
      {"host b cannot be reached; look",
       [](TwoHosts& hosts, HostFacts&) {
         hosts.answers[1].failure = "cannot be reached";
         hosts.answers[1].remedy = "look";
         hosts.answers[1].facts.reset();
       },
       Category::peer},
  };
  for (const Change& row : table) {
    SCOPED_TRACE(row.sentence);
    TwoHosts hosts;
    row.change(hosts, *hosts.answers[1].facts);
    const HostReport report = hosts.report();
    EXPECT_EQ(report.problems.size(), row.sentence.empty() ? 0U : 1U);
    if (report.problems.empty()) continue;
    EXPECT_EQ(report.problems[0].sentence(), row.sentence);
    EXPECT_EQ(report.problems[0].status, row.status);
    EXPECT_EQ(report.worst() != nullptr, row.status.has_value());
  }
}

TEST(HostReport, NamesTheProblemThatARestartDoesNotChange) {
  TwoHosts hosts;
  hosts.answers[0].facts->directory_error = "No such file or directory";
  hosts.answers[1].facts->version = "0.0.9";
  EXPECT_EQ(hosts.report().worst()->status, Category::usage);
}

TEST(HostReport, IsATable) {
  TwoHosts hosts;
  hosts.answers[1].facts->gpus = 8;
  hosts.answers[1].facts->disk_free = gib / 8;
  hosts.answers[1].data.reset();
  EXPECT_EQ(
      hosts.report().table(),
      "host  ranks  cores  gpus  free memory  free disk  address        data\n"
      "a     2      8      0     8.0 GiB      100.0 GiB  eth0 10.0.0.1  images 01234567\n"
      "b     2      8      8     8.0 GiB      128 MiB    eth0 10.0.0.2\n"
      "hint: b has 128 MiB left on the disk of /work; make room for checkpoints\n"
      "hint: b was still reading its data when the time was over; ranks compare them when they start\n");
  EXPECT_EQ(hosts.report().interface_names(), "eth0");
  hosts.answers[0].facts.reset();
  hosts.answers[0].failure = "cannot be reached";
  EXPECT_TRUE(hosts.report().table().starts_with("host  ranks  cores  gpus  free memory  free disk"))
      << hosts.report().table();
}

TEST(HostReport, AsksForANetworkWhereNoneLeadsToAllHosts) {
  TwoHosts hosts;
  for (HostAnswer& answer : hosts.answers) {
    answer.facts->interfaces = {{.name = "docker0", .address = "172.17.0.1", .prefix = 16},
                                {.name = "virbr0", .address = "192.168.122.1", .prefix = 24}};
  }
  hosts.expected.here.interfaces = hosts.answers[0].facts->interfaces;
  const HostReport report = hosts.report();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_TRUE(report.problems[0].remedy.ends_with("--interface eth0"));
  EXPECT_FALSE(report.problems[0].status);
}

/// Outputs of ssh and of the remote shell.
TEST(HostAnswer, TableOfOutputs) {
  const std::string known = std::string(host_facts_word) + json_of(facts("b", "10.0.0.2")).dump() + "\n";
  const std::string data = std::string(data_facts_word) + json_of(DataFacts{.name = "csv"}).dump() + "\n";
  const auto output = [](int status, const std::string& text, const std::string& errors = "") {
    return ProgramOutput{.answer = Answer::complete, .text = text, .errors = errors, .status = status};
  };
  ProgramOutput late = output(0, "", "Connecting\r\n");
  late.answer = Answer::late;
  late.status.reset();
  ProgramOutput slow_data = late;
  slow_data.text = known;
  ProgramOutput none;
  struct Row {
    ProgramOutput output;
    std::string failure, remedy;
    std::string shell = "ssh b";
  };
  const std::string must_work = "this must work without a question: ssh b true";
  const std::vector<Row> table = {
      {output(0, known + data), "", ""},
      {output(0, "Welcome to b!\n" + known), "", ""},
      {output(0, "\x1b]0;b\x07" + known), "", ""},  // with a terminal title
      {slow_data, "", ""},
      {late, "does not answer within 60 s (Connecting)", must_work},
      {none, "cannot be asked: ssh b cannot be started", must_work},
      {output(255, "", "\nssh: Could not resolve hostname b\n\n"),
       "cannot be reached: ssh: Could not resolve hostname b", must_work},
      {output(255, ""), "cannot be reached", must_work},
      {output(127, "", "bash: /opt/lockstep: No such file\n"),
       "has no program /opt/lockstep (bash: /opt/lockstep: No such file)",
       "install lockstep in the same folder on all hosts, or share it"},
      {output(2, "", "lockstep: error: unknown command '--preflight'\n"),
       "does not answer the questions of this version of lockstep-run (lockstep: error: unknown command "
       "'--preflight')",
       "install the same build of lockstep on all hosts"},
      {output(0, std::string(host_facts_word) + "{\"version\":1}\n"),
       "does not answer the questions of this version of lockstep-run",
       "install the same build of lockstep on all hosts"},
      {none, "cannot be asked: /opt/lockstep cannot be started", "look at this machine", ""},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(row.failure + row.output.text);
    const HostAnswer answer = read_answer(row.output, "/opt/lockstep", row.shell);
    EXPECT_EQ(answer.failure, row.failure);
    EXPECT_EQ(answer.remedy, row.remedy);
    EXPECT_EQ(answer.facts.has_value(), row.failure.empty());
    EXPECT_EQ(answer.data.has_value(), row.output.text == known + data);
  }
}

}  // namespace
}  // namespace lockstep::launcher
