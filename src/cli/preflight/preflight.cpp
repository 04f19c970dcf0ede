#include "cli/preflight/preflight.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "cli/output.h"
#include "cli/train/train_options.h"
#include "core/hash.h"
#include "core/json/json.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

template <class Facts>
void answer(const char* word, const Facts& facts) {
  print(word + json_text(json_of(facts), -1, true) + "\n");
  flush_output();
}

/// Hash of the parts of a data set.
std::string fingerprint_of(const DatasetPair& data) {
  Digest hash;
  for (const Dataset* const part : {data.train.get(), data.test.get(), data.validation.get()}) {
    const std::string text = part == nullptr ? "none" : part->fingerprint();
    hash.update(std::as_bytes(std::span(text)));
  }
  return hash.hex();
}

/// Opens the data of `lockstep train` with these options; argv[0] is the command.
DataFacts open_data_of(std::span<char* const> command) {
  DataFacts facts;
  try {
    TrainOptions options;
    OptionSet set = train_option_set(options);
    auto argc = static_cast<int>(command.size());
    auto* argv = const_cast<char**>(command.data());
    set.parse(argc, argv, environ);
    facts.name = options.data.name;
    const World world(&argc, &argv);
    facts.fingerprint = set.explain([&] { return fingerprint_of(open_dataset(world, options.data)); });
  } catch (const Error& error) {
    facts.error = error.what();
    facts.status = error.exit_status();
  }
  return facts;
}

}  // namespace

int run_preflight(std::span<char* const> words) {
  if (words.empty()) throw Error(Category::usage, std::string(preflight_flag) + " needs a request");
  HostRequest request;
  const JsonDocument document(words[0], {.file = preflight_flag, .category = Category::usage});
  document.read(document.root(), request);
  answer(host_facts_word, this_host(request));
  const auto command = words.subspan(1);
  if (request.data && !command.empty() && std::string_view(command[0]) == "train") {
    answer(data_facts_word, open_data_of(command));
  }
  return 0;
}

}  // namespace lockstep
