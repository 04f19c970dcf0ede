#include "run/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/options/internal_variables.h"
#include "lockstep/error.h"
#include "processes/guardian.h"
#include "processes/leftovers.h"
#include "processes/program_output.h"
#include "processes/relay.h"
#include "processes/signals.h"
#include "processes/stop_request.h"
#include "run/decision.h"
#include "run/failure_line.h"
#include "run/mpirun_command.h"
#include "run/run_record.h"
#include "run/summary.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Options of mpirun with which it tells what --quiet makes it keep to itself.
constexpr const char* show_messages = "--mca orte_execute_quiet 0";

/// Returns to the beginning of a terminal's line and erases it.
constexpr const char* erase_line = "\r\x1b[K";

/// Time between looks at the record of a run that can be restarted.
constexpr std::chrono::milliseconds between_looks{200};

void say(const std::string& text) { std::fprintf(stderr, "lockstep-run: %s\n", text.c_str()); }

double seconds_now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// Name of a job that no other one has.
std::string new_job_name() {
  unsigned char bytes[8] = {};
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    throw Error(Category::resource, "the system has no random numbers");
  }
  std::string name;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
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

/// Run directory and first failure that the ranks have printed on stderr. Later failures follow from the
/// first one.
class Report {
 public:
  void look_at(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (const std::size_t at = line.find(run_directory_line); at != std::string_view::npos) {
      run_directory_ = line.substr(at + run_directory_line.size());  // behind what --tag-output adds
    }
    const auto found = read_failure_line(line);
    if (found && (!failure_ || explains(*found, *failure_))) failure_ = found;
  }
  std::string run_directory() const {
    const std::lock_guard lock(mutex_);
    return run_directory_;
  }
  std::optional<FailureLine> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  std::string run_directory_;  ///< empty: unknown
  std::optional<FailureLine> failure_;
};

/// The run directory of a run, as far as it is known, and what its record says.
class RunProgress {
 public:
  const std::string& directory() const { return directory_; }
  /// Takes note of the directory; empty: still unknown. Returns whether it is another one than before.
  bool is_in(const std::string& directory) {
    return !directory.empty() && std::exchange(directory_, directory) != directory;
  }
  bool is_written_since(fs::file_time_type time) const {
    std::error_code error;
    return !directory_.empty() && fs::last_write_time(fs::path(directory_) / "metrics.jsonl", error) > time &&
           !error;
  }
  std::uint64_t newest_checkpoint() const {
    return directory_.empty() ? 0 : launcher::newest_checkpoint(directory_);
  }
  RecordedSteps steps(std::uint64_t from) const {
    return directory_.empty() ? RecordedSteps{} : recorded_steps(directory_, from);
  }

 private:
  std::string directory_;
};

bool can_save(const Arguments& arguments) { return arguments.command[0] == "train"; }

/// Number of GPUs that `program` can use on this host; 0 too if it cannot tell, or a signal has arrived.
int count_gpus(const std::string& program, const Signals& signals) {
  constexpr std::chrono::seconds limit{30};
  const ProgramOutput output = read_program({program, "--gpus"}, limit, signals.descriptor());
  if (output.answer == Answer::late) {
    say("warning: '" + program + " --gpus' does not answer within " + std::to_string(limit.count()) +
        " s, so no GPU is counted; look at the driver (nvidia-smi), or give the number of ranks with -np");
  }
  return std::atoi(output.text.c_str());
}

/// A run: one start of mpirun after the other.
class Run {
 public:
  explicit Run(const Arguments& arguments);
  int operator()();

 private:
  bool restartable() const { return arguments_.restarts.maximum > 0; }
  /// Whether mpirun is to be silent about failures. For restarts, it names a rank that was killed.
  bool is_silent() const { return !restartable(); }
  bool can_come_from_lockstep(int status) const;
  std::vector<std::string> command_of_attempt() const;
  Job make_job() const;
  void attempt();
  void watch(Guardian& guardian, Attempt& attempt, const std::vector<const Relay*>& relays,
             const Report& report);
  int milliseconds_to_next(const Attempt& attempt) const;
  void look_for_first_step(Attempt& attempt, const Report& report);
  void find_run_directory(Attempt& attempt, const Report& report);
  int status_for_caller(int status) const;
  void leave_out(const FewerRanks& fewer, const std::string& reason);
  void tell_of_restart() const;

  Arguments arguments_;
  Machine machine_;
  std::string mpirun_;
  std::string program_;
  Signals signals_{SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
  Guardian* guardian_ = nullptr;  ///< of the present attempt
  StopRequest stop_;
  RunProgress record_;
  bool lost_output_ = false;  ///< of the ranks' stdout
  fs::file_time_type start_of_attempt_;
  std::vector<Attempt> attempts_;
};

Run::Run(const Arguments& arguments)
    : arguments_(arguments),
      machine_(this_machine()),
      stop_(
          {.can_save = can_save(arguments), .grace = arguments.grace},
          [this](int signal) {
            if (guardian_ != nullptr) guardian_->send(signal);
          },
          say) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  mpirun_ = find_program("mpirun", {here.string()});  // in a bundle, it is here
  if (mpirun_.empty()) throw Error(Category::resource, "mpirun not found; install openmpi-bin");
  program_ = find_program("lockstep", {here.string()});
  if (program_.empty()) {
    throw Error(Category::resource,
                "no program; build it: cmake --preset release && cmake --build --preset release");
  }
  if (leaves_ranks_open(arguments_.mpirun, machine_)) {
    const int ranks =
        default_ranks(arguments_.command, machine_, [&] { return count_gpus(program_, signals_); });
    arguments_.mpirun.append({"-np", std::to_string(ranks)});
  }
}

/// The user's command; after a failure, one that goes on.
std::vector<std::string> Run::command_of_attempt() const {
  return attempts_.empty()
             ? arguments_.command
             : resume_command(arguments_.command, record_.directory(), attempts_.back().checkpoint > 0);
}

Job Run::make_job() const {
  Job job;
  job.name = new_job_name();
  job.places = places_of_jobs();
  std::map<std::string, std::string> variables = environment();
  variables[job_variable] = job.name;
  if (restartable()) {
    variables[tell_run_directory_variable] = "1";
  } else {
    variables.erase(tell_run_directory_variable);
  }
  variables.erase(seconds_before_variable);
  if (!attempts_.empty()) {
    variables[seconds_before_variable] = std::to_string(seconds_now() - attempts_.front().began);
  }
  // The ranks' stderr is a pipe to mpirun, so only this program knows whether it ends at a terminal.
  if (variables["LOCKSTEP_PROGRESS"].empty()) variables.erase("LOCKSTEP_PROGRESS");
  if (isatty(STDERR_FILENO) != 0) variables.emplace("LOCKSTEP_PROGRESS", "on");
  if (machine_.root) {
    variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  Start start{.mpirun = mpirun_,
              .program = program_,
              .variables = {},
              .options = arguments_.mpirun,
              .command = command_of_attempt(),
              .quiet = is_silent()};
  for (const auto& [name, value] : variables) {
    if (name.starts_with("LOCKSTEP_")) start.variables.push_back(name);
    job.environment.push_back(name);
    job.environment.back() += "=" + value;
  }
  job.command = mpirun_command(start, machine_);
  return job;
}

void Run::attempt() {
  Attempt attempt;
  attempt.ranks = arguments_.mpirun.ranks();
  attempt.from_step = record_.newest_checkpoint();
  attempt.began = seconds_now();
  start_of_attempt_ = fs::file_time_type::clock::now();
  const Job job = make_job();
  Report report;
  // mpirun ends a run when the reader of its output ends (| head), and passes over a full disk.
  // On a terminal, a line may overtake the end of the progress line, which the ranks write to stderr.
  const bool shows_progress = isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  Relay out(STDOUT_FILENO, "stdout", nullptr, shows_progress ? erase_line : "");
  Relay err(STDERR_FILENO, "", [&](std::string_view line) { report.look_at(line); });
  Streams streams{.out = out.input(), .err = err.input()};
  // Without a controlling terminal, mpirun must not read one: it would take what is typed from the shell.
  Descriptor nothing;
  if (isatty(STDIN_FILENO) != 0) {
    nothing = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    streams.in = nothing.get();
  }
  {
    Guardian guardian(job, streams, [this](int signal) { stop_.on_signal(signal, Clock::now()); });
    guardian_ = &guardian;
    out.start();
    err.start();
    watch(guardian, attempt, {&out, &err}, report);
    lost_output_ = lost_output_ || out.lost_output();
    find_run_directory(attempt, report);
    guardian_ = nullptr;
  }
  attempt.ended = seconds_now();
  attempt.checkpoint = record_.newest_checkpoint();
  attempt.last_step = record_.steps(attempt.from_step).last;
  attempt.stop_requested = stop_.requested();
  if (const auto found = report.failure(); found && attempt.status != 0) {
    attempt.place = found->place;
    attempt.cause = found->cause;
  } else if (is_silent() && !attempt.stop_requested && !can_come_from_lockstep(attempt.status)) {
    say("mpirun ended with status " + std::to_string(attempt.status) +
        "; if nothing says why: lockstep-run " + std::string(show_messages) + " ...");
  }
  attempts_.push_back(attempt);
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
  return status == 0 || (status == 1 && arguments_.command[0] == "diff");
}

/// Returns when all processes have ended and their output is copied.
void Run::watch(Guardian& guardian, Attempt& attempt, const std::vector<const Relay*>& relays,
                const Report& report) {
  std::vector<pollfd> events = {{signals_.descriptor(), POLLIN, 0}, {guardian.descriptor(), POLLIN, 0}};
  for (const Relay* relay : relays) events.push_back({relay->ended(), POLLIN, 0});
  std::size_t running =
      events.size() - 1;  // poll ignores those that have ended: their descriptors are negative
  while (running > 0) {
    poll(events.data(), events.size(), milliseconds_to_next(attempt));
    for (const int signal : signals_.take()) stop_.on_signal(signal, Clock::now());
    stop_.on_time(Clock::now());
    if (restartable() && !attempt.first_step) look_for_first_step(attempt, report);
    for (std::size_t i = 1; i < events.size(); ++i) {
      if (events[i].fd < 0 || events[i].revents == 0) continue;
      if (i == 1) {
        const std::optional<int> status = guardian.status();
        if (!status) continue;  // a signal, to be passed on
        attempt.status = *status;
        if (guardian.stood_still()) say("mpirun stood still when the ranks had ended, and was killed");
      }
      events[i].fd = -1;
      --running;
    }
  }
}

/// For poll: negative if nothing is due.
int Run::milliseconds_to_next(const Attempt& attempt) const {
  const bool looks = restartable() && !attempt.first_step;
  int result = looks ? static_cast<int>(between_looks.count()) : -1;
  if (stop_.next()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*stop_.next() - Clock::now()).count();
    const int bounded = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    result = result < 0 ? bounded : std::min(result, bounded);
  }
  return result;
}

void Run::look_for_first_step(Attempt& attempt, const Report& report) {
  find_run_directory(attempt, report);
  if (!record_.is_written_since(start_of_attempt_)) return;
  const RecordedSteps steps = record_.steps(attempt.from_step);
  // Steps are recorded once a second.
  if (steps.last > attempt.from_step)
    attempt.first_step = std::max(attempt.began, seconds_now() - steps.seconds);
}

/// In the first attempt, the run may go on from a checkpoint too, by the user's options.
void Run::find_run_directory(Attempt& attempt, const Report& report) {
  if (record_.is_in(report.run_directory()) && attempts_.empty())
    attempt.from_step = record_.newest_checkpoint();
}

/// Status with which the ranks' one leaves lockstep-run.
int Run::status_for_caller(int status) const {
  constexpr int stopped = static_cast<int>(Category::stopped);
  if (status == 0 && lost_output_) return static_cast<int>(Category::resource);
  if (!stop_.requested() || status == 0 || status == stopped) return status;
  if (stop_.killed()) return 128 + stop_.signal();
  // A rank that is asked before it listens is ended by the signal: there is nothing to save yet.
  return status == 128 + SIGUSR1 ? stopped : status;
}

void Run::leave_out(const FewerRanks& fewer, const std::string& reason) {
  arguments_.mpirun.set_ranks(fewer.ranks);
  if (!fewer.hosts.empty()) arguments_.mpirun.set_hosts(fewer.hosts);
  say(reason + ": going on with " + std::to_string(fewer.ranks) + (fewer.ranks == 1 ? " rank" : " ranks"));
}

void Run::tell_of_restart() const {
  const Attempt& last = attempts_.back();
  const std::string from = record_.directory().empty() || last.checkpoint == 0
                               ? "starting again from the beginning"
                               : "going on from the checkpoint of step " + std::to_string(last.checkpoint);
  say("failed: " + cause_of(last) + "; " + from + " (restart " + std::to_string(attempts_.size()) + " of " +
      std::to_string(arguments_.restarts.maximum) + ")");
}

int Run::operator()() {
  using Action = Decision::Action;
  while (true) {
    for (const int signal : signals_.take()) stop_.on_signal(signal, Clock::now());
    if (stop_.requested()) return status_for_caller(static_cast<int>(Category::stopped));
    attempt();
    const Attempt& last = attempts_.back();
    const FewerRanks fewer = last.place ? without(*last.place, arguments_.mpirun) : FewerRanks{};
    const bool several_hosts = arguments_.mpirun.hosts().size() > 1;
    const Decision decision = decide(attempts_, arguments_.restarts, several_hosts, fewer.ranks);
    if (decision.action == Action::finish || decision.action == Action::give_up) {
      if (decision.action == Action::give_up) {
        say("failed: " + cause_of(last) + "; giving up: " + decision.reason);
      }
      if (attempts_.size() > 1) say(summary_line(attempts_));
      return status_for_caller(last.status);
    }
    tell_of_restart();
    if (decision.action == Action::restart_with_fewer_ranks) leave_out(fewer, decision.reason);
  }
}

}  // namespace

int launch(const Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // a relay goes on where nobody reads its output
  return Run(arguments)();
}

}  // namespace lockstep::launcher
