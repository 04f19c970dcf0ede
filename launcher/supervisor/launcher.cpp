#include "supervisor/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "cli/output.h"
#include "core/clock.h"
#include "core/files/file.h"
#include "core/options/internal_variables.h"
#include "core/process/interfaces.h"
#include "core/process/launcher_report.h"
#include "core/process/signals.h"
#include "core/text/command_line.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "hosts/ask_hosts.h"
#include "hosts/host_names.h"
#include "hosts/host_wait.h"
#include "lockstep/error.h"
#include "processes/guardian.h"
#include "processes/leftovers.h"
#include "processes/program_output.h"
#include "processes/relay.h"
#include "processes/stop_request.h"
#include "supervisor/decision.h"
#include "supervisor/mpirun_command.h"
#include "supervisor/reports.h"
#include "supervisor/session_folder.h"
#include "supervisor/summary.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Parameter that silences mpirun about ranks that fail. The same option of Open MPI 4, --quiet, is refused
/// by Open MPI 5.
constexpr const char* quiet = "orte_execute_quiet";

/// Writes a line to stderr; on a terminal, it replaces the ranks' progress line.
void write_line(const std::string& text) {
  if (!wait_for_reader(stderr)) return;
  std::fprintf(stderr, "%s%s\n", isatty(STDERR_FILENO) != 0 ? erase_line : "", text.c_str());
}

void say(const std::string& text) { write_line("lockstep-run: " + text); }

/// 16 unguessable hexadecimal digits.
std::string random_digits() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    throw Error(Category::resource, "the system has no random numbers");
  }
  return fmt::format("{:016x}", number);
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (const std::size_t equals = text.find('='); equals != std::string::npos) {
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return result;
}

/// Number of GPUs that `program` can use on this host; also 0 if it does not answer, or a signal has arrived.
int count_gpus(const std::string& program, const Signals& signals) {
  constexpr std::chrono::seconds limit{30};
  const ProgramOutput output =
      read_program({program, "--gpus"}, {.limit = limit, .interrupt = signals.descriptor()});
  if (output.answer == Answer::late) {
    say(fmt::format(
        "warning: '{} --gpus' does not answer within {} s, so no GPU is counted; look at the driver "
        "(nvidia-smi), or give the number of ranks with -np",
        program, limit.count()));
  }
  return std::atoi(output.text.c_str());
}

/// Whether the system can start `program`.
bool can_start(const std::string& program, const Signals& signals) {
  const ProgramOutput output = read_program(
      {program, "--version"}, {.limit = std::chrono::seconds(10), .interrupt = signals.descriptor()});
  return output.answer != Answer::none;
}

/// Throws Error(resource) if the limit of a resource is below `needed` bytes. `flag`: option of ulimit that
/// sets it.
void check_limit(int resource, rlim_t needed, const std::string& user, const std::string& flag) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= needed) return;
  throw Error(Category::resource,
              fmt::format("{} of {} KiB, but it may have only {} KiB: allow more (ulimit {} {})", user,
                          needed / 1024, limit.rlim_cur / 1024, flag, needed / 1024));
}

/// Throws Error(resource) if mpirun cannot start in the environment of this process: mpirun itself would
/// print many lines, or crash.
void check_surroundings() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (!error) fs::current_path(here, error);  // mpirun changes to it, too
  if (error) {
    throw Error(Category::resource,
                "the current folder cannot be used (" + error.message() + "): change to another one");
  }
  check_limit(RLIMIT_FSIZE, 4096 * 1024, "mpirun needs a file", "-f");        // shared by its ranks (4.1.4)
  check_limit(RLIMIT_STACK, 256 * 1024, "lockstep-run needs a stack", "-s");  // for a relay's thread
}

/// A run: consecutive starts of mpirun.
class Run {
 public:
  explicit Run(const Arguments& arguments);
  int operator()();
  /// Asks the hosts and prints their answers; starts nothing.
  int check();

 private:
  /// Whether mpirun is silenced about failures. With restarts it is not, because its message names the rank
  /// that was killed.
  bool is_silent() const { return arguments_.restarts.maximum == 0; }
  bool can_come_from_lockstep(int status) const;
  bool is_training() const;
  bool prints_samples() const;
  std::vector<std::string> command_of_attempt() const;
  Job make_job(const std::string& secret) const;
  Attempt next_attempt() const;
  void warn_of_late_name() const;
  HostQuestions questions(bool data) const;
  bool hosts_are_ready();
  void use(const HostReport& report);
  void refuse(const HostReport& report, const HostProblem& problem);
  void attempt();
  HostWait wait_for_hosts() const;
  int watch(Guardian& guardian, const Reports& reports, HostWait& wait,
            const std::vector<const Relay*>& relays);
  int milliseconds_to_next() const;
  int status_for_caller(int status) const;
  void leave_out(const FewerRanks& fewer, const std::string& reason);
  void report_restart() const;
  std::string advice_after(const Attempt& attempt) const;
  void report_end(const Attempt& attempt, bool crashed) const;
  bool lost_checkpoint() const;
  void report_stop(LauncherReport::Stop stop) const;

  Arguments arguments_;
  std::string start_;  ///< "lockstep-run -np 4", as typed
  Machine machine_;
  std::string mpirun_;
  std::string program_;
  Signals signals_{training_signals};
  Guardian* guardian_ = nullptr;  ///< guardian of the current attempt; null between attempts
  StopRequest stop_;
  bool wants_checkpoint_ = false;                    ///< whether the ranks must still be asked for one
  bool lost_output_ = false;                         ///< whether output of the ranks was lost
  std::map<std::string, std::string> network_;       ///< variables that choose the network between hosts
  std::map<std::string, std::string> listed_hosts_;  ///< the user's name of each host, by the host's own name
  std::vector<Attempt> attempts_;
};

Run::Run(const Arguments& arguments)
    : arguments_(arguments),
      machine_(this_machine()),
      stop_(
          {.can_save = arguments.subcommand() == "train", .grace = arguments.grace},
          [this](int signal) {
            wants_checkpoint_ = signal == SIGUSR2;
            if (wants_checkpoint_) return;
            give_up_blocked_output();
            if (guardian_ != nullptr) guardian_->send(signal);
          },
          say) {
  std::vector<std::string> start = arguments.before_command;
  start.insert(start.begin(), program_invocation_name);
  start_ = shell_line(start);
  arguments_.mpirun.check_hosts();
  // mpirun does not know --hosts. It is normally replaced after the hosts have answered, but a scheduler's
  // hosts are not asked.
  if (machine_.scheduled && arguments_.mpirun.has({"hosts"})) {
    arguments_.mpirun.set_hosts(arguments_.mpirun.hosts());
  }
  if (needs_one_rank(arguments_.command)) {
    arguments_.mpirun.set_ranks(1);
    arguments_.restarts.min_ranks.reset();
  }
  check_number_of_ranks(arguments_.mpirun, machine_);
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  mpirun_ = find_program("mpirun", {here.string()});  // a bundle has it in this folder
  if (mpirun_.empty()) throw Error(Category::resource, "mpirun not found; install openmpi-bin");
  program_ = find_program("lockstep", {here.string()});
  if (program_.empty()) {
    throw Error(Category::resource,
                "no program; build it: cmake --preset release && cmake --build --preset release");
  }
  check_surroundings();
  if (machine_.scheduled) check_min_ranks(arguments_);  // the hosts are not asked for their numbers of ranks
  check_session_folder(arguments_.mpirun);
  if (leaves_ranks_open(arguments_.mpirun, machine_)) {
    const int ranks =
        default_ranks(arguments_.command, machine_.nodes, [&] { return count_gpus(program_, signals_); });
    arguments_.mpirun.set_ranks(ranks);
  }
  // mpirun of Open MPI 4.1 hangs if it may open fewer than 27 files plus 4 for each rank of this host
  // (measured with 1 to 16 ranks). Each rank reserves its own.
  const bool is_local = is_only_here(arguments_.mpirun, machine_);
  int local_ranks = is_local ? arguments_.mpirun.ranks() : 1;
  if (local_ranks == 0) local_ranks = count_slots(arguments_.mpirun.hosts());
  reserve_open_files(24 + 4 * static_cast<std::size_t>(std::max(1, local_ranks)), "starting mpirun");
}

/// The user's command; after a failure, the command that continues the run.
std::vector<std::string> Run::command_of_attempt() const {
  if (attempts_.empty()) return arguments_.command;
  const Attempt& last = attempts_.back();
  return resume_command(arguments_.command, last.run_directory, last.checkpoint > 0);
}

/// The job of an attempt. `secret` marks the ranks' reports.
Job Run::make_job(const std::string& secret) const {
  Job job;
  job.name = random_digits();
  job.places = places_of_jobs();
  std::map<std::string, std::string> variables = environment();
  variables[job_variable] = job.name;
  variables[launcher_variable] = launcher_value(secret);
  variables[start_variable] = start_;
  variables.erase(seconds_before_variable);
  if (!attempts_.empty()) {
    variables[seconds_before_variable] = std::to_string(steady_seconds() - attempts_.front().began);
  }
  // The ranks' stderr is a pipe to mpirun, so only this program knows whether it ends at a terminal.
  if (variables["LOCKSTEP_PROGRESS"].empty()) variables.erase("LOCKSTEP_PROGRESS");
  if (isatty(STDERR_FILENO) != 0) variables.emplace("LOCKSTEP_PROGRESS", "on");
  for (const auto& [name, value] : network_) variables.insert_or_assign(name, value);
  // mpirun crashes without $HOME, unless the user has an entry in the password database.
  if (!variables.contains("HOME") && getpwuid(geteuid()) == nullptr) variables["HOME"] = "/";
  variables.emplace("HWLOC_HIDE_ERRORS", "2");  // mpirun's hwloc prints a line if /sys is missing
  if (is_silent()) variables.emplace(std::string("OMPI_MCA_") + quiet, "1");
  if (!chooses_session_folder(arguments_.mpirun)) {
    variables["OMPI_MCA_orte_local_tmpdir_base"] = session_folder(job.name, job.places);
  }
  if (geteuid() == 0) {
    variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  Start start{.mpirun = mpirun_,
              .program = program_,
              .variables = {},
              .options = arguments_.mpirun,
              .command = command_of_attempt()};
  for (const auto& [name, value] : variables) {
    if (name.starts_with("LOCKSTEP_") || network_.contains(name)) start.variables.push_back(name);
    job.environment.push_back(fmt::format("{}={}", name, value));
  }
  job.command = mpirun_command(start, machine_);
  return job;
}

/// The next attempt, with the members that are known before its start.
Attempt Run::next_attempt() const {
  Attempt attempt;
  attempt.ranks = arguments_.mpirun.ranks();
  attempt.began = steady_seconds();
  if (!attempts_.empty()) {
    const Attempt& last = attempts_.back();
    attempt.run_directory = last.run_directory;
    attempt.from_step = attempt.last_step = attempt.checkpoint = last.checkpoint;
  }
  return attempt;
}

/// Warns if the name of this host is slow to resolve: /etc/hosts may lack it, as in a bare container.
void Run::warn_of_late_name() const {
  const std::string& own = machine_.host;
  if (own.empty() || !find_names({own}, signals_.descriptor()).front().is_late) return;
  say("warning: the name of this host, " + own +
      ", is not found within a second, and mpirun looks for it at each start; " +
      remedy_for_late_name(own, "127.0.1.1"));
}

HostQuestions Run::questions(bool data) const {
  const MpirunOptions& options = arguments_.mpirun;
  return {.mpirun = mpirun_,
          .program = program_,
          .command = arguments_.command,
          .interface = arguments_.interface.empty() ? options.parameter("btl_tcp_if_include").value_or("")
                                                    : arguments_.interface,
          .data = data && !arguments_.command.empty(),
          .interrupt = signals_.descriptor(),
          .say = say};
}

/// Asks the hosts that the user named, before an attempt. Returns false if they cannot take part, which fails
/// the attempt, or if a signal has arrived.
bool Run::hosts_are_ready() {
  if (machine_.scheduled || !arguments_.mpirun.names_hosts()) return true;
  const std::optional<HostReport> report = ask_hosts(questions(false), arguments_.mpirun);
  if (!report) return false;
  if (const HostProblem* const problem = report->worst()) {
    refuse(*report, *problem);
    return false;
  }
  use(*report);
  return true;
}

void Run::use(const HostReport& report) {
  const bool is_first = listed_hosts_.empty();
  for (const HostAnswer& answer : report.answers) listed_hosts_[answer.facts->name] = answer.host;
  if (!is_first) return;
  check_min_ranks(arguments_);
  for (const HostProblem& problem : report.problems) say("warning: " + problem.sentence());
  const bool is_given = !arguments_.interface.empty();
  const bool is_left_to_mpi =
      arguments_.mpirun.parameter("btl_tcp_if_include") || arguments_.mpirun.parameter("btl_tcp_if_exclude");
  if (report.network.list.empty() || (!is_given && (is_left_to_mpi || !report.network.is_choice))) return;
  if (!is_given)
    say("hosts reach each other by " + report.network.list + "; --interface names another network");
  network_ = {{interfaces_variable, report.network.list},
              {"OMPI_MCA_oob_tcp_if_include", report.network.list}};
  if (std::getenv("NCCL_SOCKET_IFNAME") == nullptr) {
    network_["NCCL_SOCKET_IFNAME"] = "=" + report.interface_names();
  }
}

void Run::refuse(const HostReport& report, const HostProblem& problem) {
  std::fputs(report.table().c_str(), stderr);
  say("error: " + problem.sentence());
  Attempt attempt = next_attempt();
  attempt.ended = attempt.began;
  attempt.status = static_cast<int>(*problem.status);
  attempt.failure =
      LauncherReport::Failure{.host = problem.host, .cause = "host " + problem.host + " " + problem.text};
  attempts_.push_back(attempt);
}

int Run::check() {
  if (machine_.scheduled) {
    throw Error(Category::usage,
                "--check asks hosts by ssh; in a job of a scheduler, start doctor on all ranks");
  }
  const std::optional<HostReport> report = ask_hosts(questions(true), arguments_.mpirun);
  if (!report) return 128 + signals_.take().front();
  print_report(report->table());
  if (const HostProblem* const problem = report->worst()) {
    throw Error(*problem->status, problem->sentence());
  }
  print_report("all hosts can take part\n");
  return 0;
}

void Run::attempt() {
  const std::string secret = random_digits();
  const Job job = make_job(secret);
  Reports reports(next_attempt(), steady_seconds);
  // Relays are needed because mpirun ends a run when the reader of its output ends (| head), and ignores a
  // full disk. On a terminal, a line of stdout may arrive while a progress line of the ranks, on stderr, is
  // shown.
  const bool shows_progress = isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  Relay out(STDOUT_FILENO, nullptr, shows_progress ? erase_line : "");
  Relay err(
      STDERR_FILENO, [&](std::string_view line) { reports.take_line(line); }, {},
      MarkedLines(report_marker(secret), [&](std::string_view text) { reports.take_report(text); }));
  Streams streams{.out = out.input(), .err = err.input()};
  // mpirun has no controlling terminal, so it must not read the user's: it would take input from the shell.
  FileDescriptor nothing;
  if (isatty(STDIN_FILENO) != 0) {
    nothing = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    streams.in = nothing.get();
  }
  int status = 0;
  bool crashed = false;
  HostWait wait = wait_for_hosts();
  {
    Guardian guardian(job, streams, [this](int signal) {
      if (signal != SIGSTOP) return stop_.on_signal(signal, Clock::now());
      say("mpirun was stopped by a signal (SIGSTOP): continuing it");
    });
    guardian_ = &guardian;
    out.start();
    err.start();
    status = watch(guardian, reports, wait, {&out, &err});
    crashed = guardian.crashed();
    // If stdout has no reader or is closed, nobody misses the output.
    lost_output_ = lost_output_ || (out.failure() != 0 && out.failure() != EPIPE && out.failure() != EBADF);
    guardian_ = nullptr;
  }
  Attempt attempt = reports.attempt();
  attempt.ended = steady_seconds();
  if (attempt.failure && listed_hosts_.contains(attempt.failure->host)) {
    attempt.failure->host = listed_hosts_[attempt.failure->host];
  }
  if (crashed && attempt.ranks_status) {
    say("mpirun crashed after all ranks had exited (" + signal_name(status - 128) + ")");
    status = *attempt.ranks_status;
  } else if (crashed) {
    attempt.mpirun_failure = "mpirun was killed by " + signal_name(status - 128);
  } else if (wait.is_over()) {
    attempt.mpirun_failure = wait.failure();
    status = static_cast<int>(Category::peer);
  } else if (!attempt.failure && !stop_.requested() && !can_come_from_lockstep(status) &&
             status != 128 + SIGKILL && !can_start(program_, signals_)) {
    // mpirun's own status in this case, 131 or 132, looks like a signal. Not checked after SIGKILL: ranks
    // that were killed had started, and if memory was short, the program may be unable to start now.
    attempt.mpirun_failure = "mpirun could not start " + program_ + ", which is missing or damaged";
    status = static_cast<int>(Category::resource);
  }
  attempt.stop_requested = stop_.requested();
  if (attempt.stop_requested && !stop_.killed()) {
    // The request kills a rank that has not installed its handler yet. If no rank has started, mpirun ends
    // with 0 or a status of its own.
    const bool is_of_mpirun = !attempt.heard && (status == 0 || !can_come_from_lockstep(status));
    if (status == 128 + SIGUSR1 || is_of_mpirun) status = static_cast<int>(Category::stopped);
  }
  attempt.status = status;
  if (attempt.stop) report_stop(*attempt.stop);
  if (status == 0) attempt.failure.reset();
  report_end(attempt, crashed);
  attempts_.push_back(attempt);
}

/// Advice on how to continue the run after `attempt`; empty if it has no run directory.
std::string Run::advice_after(const Attempt& attempt) const {
  return attempt.run_directory.empty()
             ? ""
             : restart_advice(start_, arguments_.command, attempt.run_directory, attempt.checkpoint > 0);
}

/// Prints what no rank has printed: why the attempt failed, if mpirun is silenced, or how to continue after a
/// stop. `crashed`: whether a signal ended mpirun.
void Run::report_end(const Attempt& attempt, bool crashed) const {
  const std::string advice = advice_after(attempt);
  if (attempt.stop_requested) {
    const bool said = attempt.stop || attempt.failure || attempt.status == 0;
    if (!said && !advice.empty()) say(advice);
    return;
  }
  const bool explained = !attempt.mpirun_failure.empty();
  if (!is_silent()) return;
  if (!explained && can_come_from_lockstep(attempt.status)) return;
  const bool killed = attempt.status == 128 + SIGKILL;
  // A rank that reports another rank's end for an unknown reason has printed the advice, but not the signal.
  if (attempt.failure && (attempt.failure->known || !(killed || crashed))) return;
  std::string line;
  if (explained) {
    line = attempt.mpirun_failure;
  } else if (killed) {
    line = attempt.failure || attempt.ranks == 1 ? "a rank was" : "the ranks were";
    line += " killed by signal 9 (often: no memory left)";
  } else {
    line = "mpirun ended with status " + std::to_string(attempt.status);
    if (const char* const slurm_job = std::getenv("SLURM_JOB_ID")) {
      line += " in Slurm job " + printable(slurm_job) + " (if that job is over, unset SLURM_JOB_ID)";
    }
    line += std::string("; if nothing says why: lockstep-run --mca ") + quiet + " 0 ...";
  }
  if ((crashed || killed) && !attempt.failure && !advice.empty()) line += "; " + advice;
  say(line);
}

/// Prints why the ranks stopped. Names the signal that this program received instead of SIGUSR1, by which it
/// asked the ranks to stop.
void Run::report_stop(LauncherReport::Stop stop) const {
  if (stop_.requested() && stop.cause.starts_with(signal_name(SIGUSR1)))
    stop.cause = signal_name(stop_.signal());
  write_line(stop_line(stop));
}

bool Run::can_come_from_lockstep(int status) const {
  switch (static_cast<Category>(status)) {
    case Category::usage:
    case Category::data:
    case Category::resource:
    case Category::peer:
    case Category::internal:
    case Category::stopped:
      return true;
  }
  return status == 0 || (status == 1 && arguments_.subcommand() == "diff");
}

/// Whether the command is a training, which continues without stdout because its results are in files.
bool Run::is_training() const {
  return arguments_.subcommand() == "train" && !needs_one_rank(arguments_.command);
}

/// Whether the command prints a line for each sample while it computes. Other commands print a report, of
/// which a reader such as head may read only a part.
bool Run::prints_samples() const {
  const std::vector<std::string>& words = arguments_.command;
  const bool is_order = std::find(words.begin(), words.end(), "order") != words.end();
  return arguments_.subcommand() == "predict" || (arguments_.subcommand() == "data" && is_order);
}

HostWait Run::wait_for_hosts() const {
  // A scheduler may make mpirun wait. With these options, reports of ranks may not arrive here.
  const bool has_none =
      machine_.scheduled || arguments_.mpirun.has({"output-filename", "xml", "xml-file", "xterm"});
  return {has_none ? std::vector<std::string>{} : other_hosts(arguments_.mpirun, machine_), Clock::now()};
}

/// Waits until all processes of the job have ended and their output is copied. Returns the job's status.
/// Throws Error(resource) if the output of a command other than a training cannot be written.
int Run::watch(Guardian& guardian, const Reports& reports, HostWait& wait,
               const std::vector<const Relay*>& relays) {
  int result = 0;
  bool killed = false, warned = false;
  const auto check_output = [&](bool runs) {
    const int failure = relays.front()->failure();
    if (failure == 0) return;
    const std::string reason = std::string("stdout: ") + std::strerror(failure);
    if (is_training()) {
      if (stop_.requested()) return;
      if (!std::exchange(warned, true)) say("warning: " + reason + "; the run continues without it");
    } else if (failure != EPIPE) {
      throw Error(Category::resource, reason);
    } else if (runs && prints_samples()) {
      stop_.on_signal(SIGPIPE, Clock::now());  // which would end the program without lockstep-run, too
    }
  };
  std::vector<pollfd> events = {{signals_.descriptor(), POLLIN, 0}, {guardian.descriptor(), POLLIN, 0}};
  for (const Relay* relay : relays) events.push_back({relay->ended(), POLLIN, 0});
  std::size_t running =
      events.size() - 1;  // poll ignores entries that have ended: their descriptors are negative
  while (running > 0) {
    poll(events.data(), events.size(), milliseconds_to_next());
    if (guardian.continue_if_stopped())
      say("lockstep-guard was stopped by a signal (SIGSTOP): continuing it");
    for (const int signal : signals_.take()) stop_.on_signal(signal, Clock::now());
    // Before a rank has reported a step, the signal would end mpirun or a rank.
    if (wants_checkpoint_ && reports.attempt().started) {
      guardian.send(SIGUSR2);
      wants_checkpoint_ = false;
    }
    check_output(events[1].fd >= 0);
    stop_.on_time(Clock::now());
    if (!reports.attempt().heard && !stop_.requested()) {
      const HostWait::Due due = wait.look(Clock::now());
      if (due == HostWait::Due::warning) say(wait.warning());
      if (due == HostWait::Due::end) guardian.send(SIGKILL);
    }
    for (std::size_t i = 1; i < events.size(); ++i) {
      if (events[i].fd < 0 || events[i].revents == 0) continue;
      if (i == 1) {
        const std::optional<int> status = guardian.status();
        if (!status) {
          // If the ranks ended normally, mpirun may still be waiting for the reader of their output. While
          // ranks on other hosts run, mpirun may have no children (plm_rsh_no_tree_spawn).
          const bool lost_ranks = guardian.childless() && is_only_here(arguments_.mpirun, machine_) &&
                                  !reports.attempt().ranks_status;
          if (lost_ranks && !std::exchange(killed, true)) {
            say("mpirun did not notice that the ranks were killed; killed it");
            guardian.send(SIGKILL);
          }
          continue;
        }
        result = *status;
        if (guardian.hung()) say("mpirun hung after all ranks exited; killed it");
      }
      events[i].fd = -1;
      --running;
    }
  }
  check_output(false);
  return result;
}

/// Timeout for poll.
int Run::milliseconds_to_next() const {
  constexpr std::int64_t look = 1000;  // between checks of the guardian
  if (!stop_.next()) return look;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*stop_.next() - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, look));
}

/// Maps the ranks' exit status to lockstep-run's.
int Run::status_for_caller(int status) const {
  if (status == 0 && lost_output_) return static_cast<int>(Category::resource);
  const bool ended_itself = status == 0 || status == static_cast<int>(Category::stopped);
  return stop_.killed() && !ended_itself ? 128 + stop_.signal() : status;
}

void Run::leave_out(const FewerRanks& fewer, const std::string& reason) {
  arguments_.mpirun.set_ranks(fewer.ranks);
  if (!fewer.hosts.empty()) arguments_.mpirun.set_hosts(fewer.hosts);
  say(reason + ": continuing with " + counted(fewer.ranks, "rank"));
}

void Run::report_restart() const {
  const Attempt& last = attempts_.back();
  std::string from = "starting again";
  if (!last.run_directory.empty() && last.checkpoint > 0) {
    from = "continuing from the checkpoint of step " + std::to_string(last.checkpoint);
  } else if (!last.run_directory.empty() || last.first_step) {  // else the run has not begun
    from += " from the beginning";
  }
  say(fmt::format("failed: {}; {} (restart {} of {})", cause_of(last), from, attempts_.size(),
                  arguments_.restarts.maximum));
}

/// Whether the checkpoint to continue from was removed with its run directory. False if other hosts take
/// part: their run directory may not be visible here.
bool Run::lost_checkpoint() const {
  const Attempt& last = attempts_.back();
  std::error_code error;
  return last.checkpoint > 0 && is_only_here(arguments_.mpirun, machine_) && !last.run_directory.empty() &&
         !fs::exists(last.run_directory, error) && !error;
}

int Run::operator()() {
  using Action = Decision::Action;
  warn_of_late_name();
  while (true) {
    for (const int signal : signals_.take()) stop_.on_signal(signal, Clock::now());
    if (stop_.requested()) {
      const std::string advice = attempts_.empty() ? "" : advice_after(attempts_.back());
      if (!advice.empty()) say(advice);
      return status_for_caller(stop_.killed() ? 128 + SIGKILL : static_cast<int>(Category::stopped));
    }
    const std::size_t before = attempts_.size();
    if (hosts_are_ready()) attempt();
    if (attempts_.size() == before) continue;  // a signal has arrived
    const Attempt& last = attempts_.back();
    const FewerRanks fewer = last.failure ? without(*last.failure, arguments_.mpirun) : FewerRanks{};
    const bool several_hosts = arguments_.mpirun.hosts().size() > 1;
    Decision decision = decide(attempts_, arguments_.restarts, several_hosts, fewer.ranks);
    const bool restarts =
        decision.action == Action::restart || decision.action == Action::restart_with_fewer_ranks;
    if (restarts && lost_checkpoint()) {
      decision = {Action::give_up, "the run directory " + last.run_directory + " was removed"};
    }
    if (decision.action == Action::finish || decision.action == Action::give_up) {
      if (decision.action == Action::give_up) {
        say("failed: " + cause_of(last) + "; giving up: " + decision.reason);
      }
      if (attempts_.size() > 1) say(summary_line(attempts_));
      return status_for_caller(last.status);
    }
    report_restart();
    if (decision.action == Action::restart_with_fewer_ranks) leave_out(fewer, decision.reason);
  }
}

}  // namespace

int launch(const Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // a relay continues if nobody reads its output
  std::signal(SIGXFSZ, SIG_IGN);  // a relay continues if its file may not grow
  std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the status of children would be lost
  Run run(arguments);
  return arguments.check ? run.check() : run();
}

}  // namespace lockstep::launcher
