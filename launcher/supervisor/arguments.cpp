#include "supervisor/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "core/text/nearest.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

constexpr std::array<std::string_view, 14> subcommands = {
    "train",   "eval",   "predict", "bench",  "doctor", "inspect",    "data",
    "recipes", "report", "diff",    "export", "import", "completion", "man"};

/// Subcommands that need only one rank (Command::is_alone).
constexpr std::array<std::string_view, 8> lone_subcommands = {"inspect", "recipes", "report",     "diff",
                                                              "export",  "import",  "completion", "man"};

/// Options of torchrun, accelerate and srun, with the equivalent of lockstep-run; empty: there is none.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> other_options = {
    {{"nproc", "-np N"},
     {"nproc_per_node", "-np N, or -N N for N ranks on each host"},
     {"nproc-per-node", "-np N, or -N N for N ranks on each host"},
     {"ntasks-per-node", "-np N, or -N N for N ranks on each host"},
     {"num_processes", "-np N"},
     {"ntasks", "-np N"},
     {"nnodes", "--hosts A,B or --hostfile FILE"},
     {"nodes", "--hosts A,B or --hostfile FILE"},
     {"nodelist", "--hosts A,B or --hostfile FILE"},
     {"cpus-per-task", "--threads N after the command"},
     {"time", "train --max-time 5m"},
     {"account", ""},
     {"exclusive", ""},
     {"gpus", ""},
     {"gres", ""},
     {"mem", ""},
     {"mpi", ""},
     {"partition", ""}}};

/// Value of an option that takes a whole number of at least `minimum`.
int read_number(std::string_view option, std::string_view value, int minimum) {
  const std::optional<int> result = whole_number<int>(value);
  if (!result || *result < minimum) {
    throw Error(Category::usage,
                fmt::format("{}: '{}' is not a whole number from {} on", option, value, minimum));
  }
  return *result;
}

/// Reads the words before the command, one option after the other.
class Reader {
 public:
  explicit Reader(std::span<const char* const> words) : words_(words) {}

  bool at_end() const { return next_ == words_.size(); }
  std::string_view word() const { return words_[next_]; }
  /// Removes and returns up to `count` of the next words.
  std::vector<std::string> take(std::size_t count) {
    const std::span<const char* const> taken = words_.subspan(next_, std::min(count, words_.size() - next_));
    next_ += taken.size();
    return {taken.begin(), taken.end()};
  }

  /// Removes the next option, "--name value" or "--name=value". Returns its value.
  std::string value() {
    const std::string_view option = name();
    if (word() != option) return take(1)[0].substr(option.size() + 1);
    const std::vector<std::string> words = take(2);
    if (words.size() < 2) throw Error(Category::usage, std::string(option) + " needs a value");
    return words[1];
  }
  /// Same as value(), for a whole number of at least `minimum`.
  int number(int minimum) {
    const std::string_view option = name();
    return read_number(option, value(), minimum);
  }
  /// Removes the next option, which must have no value. Returns true.
  bool flag() {
    const std::string_view option = name();
    if (word() != option) throw Error(Category::usage, std::string(option) + " takes no value");
    ++next_;
    return true;
  }

 private:
  /// Name of the next option, with dashes.
  std::string_view name() const { return word().substr(0, word().find('=')); }

  std::span<const char* const> words_;
  std::size_t next_ = 0;
};

/// An option of lockstep-run itself, which neither mpirun nor lockstep has.
struct OwnOption {
  std::string_view name;  ///< without dashes
  void (*read)(Arguments& to, Reader& from);
};

constexpr OwnOption own_table[] = {
    {"max-restarts", [](Arguments& to, Reader& from) { to.restarts.maximum = from.number(0); }},
    {"min-ranks", [](Arguments& to, Reader& from) { to.restarts.min_ranks = from.number(1); }},
    {"grace", [](Arguments& to, Reader& from) { to.grace = std::chrono::seconds(from.number(0)); }},
    {"interface", [](Arguments& to, Reader& from) { to.interface = from.value(); }},
    {"hosts",
     [](Arguments& to, Reader& from) {
       to.mpirun.append({"--hosts", from.value()});
     }},
    {"check", [](Arguments& to, Reader& from) { to.check = from.flag(); }}};

/// The entry for `word`, which is --NAME or --NAME=VALUE; null: none.
const OwnOption* own_option(std::string_view word) {
  if (!word.starts_with("--")) return nullptr;
  const std::string_view name = word.substr(2, word.find('=') - 2);
  const OwnOption* const found = std::ranges::find(own_table, name, &OwnOption::name);
  return found == std::end(own_table) ? nullptr : found;
}

/// Throws Error(usage) for an option of another launcher and for a misspelt option of lockstep-run, which
/// mpirun would refuse silently or without help.
void refuse_other_option(std::string_view word) {
  if (!word.starts_with("--") && word != "-p") return;
  const std::string_view option = word.substr(0, word.find('='));
  const std::string_view name = word == "-p" ? "partition" : option.substr(2);  // -p is srun's
  for (const auto& [theirs, ours] : other_options) {
    if (name != theirs) continue;
    throw Error(Category::usage,
                fmt::format("unknown option '{}'; {}", option,
                            ours.empty() ? "it is one of Slurm: give it to sbatch, salloc or srun"
                                         : fmt::format("did you mean {}?", ours)));
  }
  if (own_option(word) != nullptr || values_of(option) > 0) return;
  const std::string ours = suggestion(name, own_options(), "--");
  if (!ours.empty()) throw Error(Category::usage, "unknown option '" + std::string(option) + "'" + ours);
}

std::string no_command(const std::string& unknown) {
  return fmt::format("{}; known: {} (see --help)",
                     unknown.empty() ? "no command" : "unknown command '" + unknown + "'",
                     fmt::join(subcommands, ", "));
}

/// Refuses options that are in the wrong place, or that have no effect in combination with the others.
void check(const Arguments& arguments) {
  for (const std::string& word : arguments.command) {
    if (own_option(word) == nullptr) continue;
    throw Error(Category::usage, fmt::format("{} is an option of lockstep-run: write it before {}",
                                             word.substr(0, word.find('=')), arguments.command[0]));
  }
  const RestartOptions& restarts = arguments.restarts;
  if (restarts.maximum > 0 && !arguments.command.empty() && arguments.command[0] != "train") {
    throw Error(Category::usage, "--max-restarts has no effect with " + arguments.command[0] +
                                     ": only train can continue from a checkpoint");
  }
  if (!arguments.interface.empty() && !arguments.mpirun.names_hosts()) {
    throw Error(Category::usage, "--interface has no effect without --hosts or --hostfile");
  }
  if (!restarts.min_ranks) return;
  if (restarts.maximum == 0) throw Error(Category::usage, "--min-ranks has no effect without --max-restarts");
  // Without -np, ranks are counted once the hosts have answered, unless another option places them.
  const bool counts_later = arguments.mpirun.names_hosts() && !arguments.mpirun.places_ranks();
  if (arguments.mpirun.ranks() > 0 || !counts_later) check_min_ranks(arguments);
}

}  // namespace

void check_min_ranks(const Arguments& arguments) {
  const std::optional<int>& least = arguments.restarts.min_ranks;
  const int ranks = arguments.mpirun.ranks();
  if (!least) return;
  if (ranks == 0) throw Error(Category::usage, "--min-ranks has no effect without -np");
  if (ranks < *least) {
    throw Error(Category::usage,
                fmt::format("--min-ranks: '{}' is more than the number of ranks, -np {}", *least, ranks));
  }
}

std::vector<std::string> own_options() {
  std::vector<std::string> names;
  for (const OwnOption& option : own_table) names.emplace_back(option.name);
  return names;
}

bool is_subcommand(std::string_view word) {
  return std::ranges::find(subcommands, word) != subcommands.end();
}

bool needs_one_rank(const std::vector<std::string>& command) {
  const auto asks_for_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  const auto end_of_options = std::find(command.begin(), command.end(), "--");
  if (std::any_of(command.begin(), end_of_options, asks_for_help)) return true;
  return !command.empty() &&
         std::ranges::find(lone_subcommands, std::string_view(command[0])) != lone_subcommands.end();
}

Arguments parse_arguments(std::span<const char* const> words) {
  Arguments result;
  std::string unknown;        // first word that is neither an option nor a value
  bool may_be_value = false;  // whether the next word may belong to an option that is not known here
  Reader reader(words);
  while (!reader.at_end() && !is_subcommand(reader.word())) {
    if (reader.word() == "--") {
      reader.take(1);
      break;
    }
    if (reader.word() == "-h" || reader.word() == "--help") {
      result.help = true;
      return result;
    }
    if (reader.word() == "--version") {
      result.version = true;
      return result;
    }
    refuse_other_option(reader.word());
    if (const OwnOption* const own = own_option(reader.word())) {
      own->read(result, reader);
      may_be_value = false;
    } else {
      const std::vector<std::string> option = reader.take(1 + values_of(reader.word()));
      if (is_number_of_ranks(option[0]) && option.size() == 2) read_number(option[0], option[1], 1);
      const bool is_option = option[0].starts_with("-");
      if (!is_option && !may_be_value) throw Error(Category::usage, no_command(option[0]));
      if (!is_option && unknown.empty()) unknown = option[0];
      may_be_value = is_option && option.size() == 1;
      result.mpirun.append(option);
    }
  }
  result.command = reader.take(words.size());
  result.before_command.assign(words.begin(), words.end() - std::ssize(result.command));
  if (result.command.empty() && !words.empty() && !(result.check && unknown.empty())) {
    throw Error(Category::usage, no_command(unknown));
  }
  if (!result.command.empty() || result.check) check(result);
  return result;
}

std::string help() {
  return R"(Usage: lockstep-run [-np N] [options] COMMAND ...

Starts lockstep on N ranks with mpirun, and the options that it needs:
  lockstep-run train --model lenet --dataset fashion-mnist
  lockstep-run -np 2 train --model lenet --dataset fashion-mnist
  lockstep-run --hosts a:2,b:2 train ...
  lockstep-run --hosts a,b --check train ...
  lockstep-run -np 4 --max-restarts 10 train ...

Options before COMMAND, for example train, are those below or mpirun's (mpirun --help); options
after it are lockstep's (lockstep --help). The exit status is lockstep's.

  -np N              number of ranks (default: one per visible GPU of each host; without GPUs, or
                     with --device cpu, one per NUMA node, as a rank uses all its cores. With a
                     scheduler, mpirun's)
  --hosts A:2,B:2    hosts, with their numbers of ranks or without, to which ssh works without a
                     question; or --hostfile FILE, with lines "A slots=2". All hosts are checked
                     first; if one lacks something, a table says what, and nothing starts
  --check            only ask the hosts, for the data of COMMAND too, and print the table
  --interface NAME   network interface by which hosts reach each other, or their network, as in
                     10.0.0.0/24 (default: found, where hosts have several)
  --max-restarts N   number of times that a failed training is resumed from its newest checkpoint
                     (default: 0, so that failures can be examined)
  --min-ranks N      if one rank, or one of several hosts, keeps failing, continue with fewer ranks,
                     but at least N (default: 1). Their number does not affect the result
  --grace SECONDS    time that ranks have to stop on request before they are killed (default: 30)
  --oversubscribe    allow more than 8 ranks for each core of this host
  --help             show this text
  --version          print the version

SIGTERM, SIGINT (Ctrl-C), SIGHUP, SIGXCPU and SIGUSR1 stop a training: all ranks end after the same
step, with a checkpoint and status 75. A second SIGINT ends everything at once. SIGUSR2 asks for a
checkpoint. No process stays behind on this host, even if lockstep-run or mpirun is killed.

It gives up, and says why, after wrong usage (status 2), bad input data (status 3), N restarts, or
two attempts that fail without writing another checkpoint.
)";
}

}  // namespace lockstep::launcher
