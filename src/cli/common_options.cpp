#include "cli/common_options.h"

#include <fmt/ranges.h>

#include "lockstep/dataset.h"
#include "lockstep/models.h"

namespace lockstep {

void declare_model(OptionSet& set, const std::string& help, std::string& model) {
  set.text("model", "NAME",
           fmt::format("{}: {}; mlp:256,128 for other widths; or FILE.json, which describes one", help,
                       fmt::join(model_names(), ", ")),
           model, check_model_name);
}

void declare_data(OptionSet& set, std::string& dataset, std::string& directory) {
  set.choice("dataset", "data set", dataset, dataset_names());
  set.text("data-dir", "DIR", "folder of the data set's files; without it, where the system keeps them",
           directory);
}

void declare_batch(OptionSet& set, std::uint32_t& batch_size, std::uint32_t& micro_batches) {
  set.integer("batch-size", "N", "images per step over all ranks together", batch_size,
              {.least = 1, .most = 1U << 24});
  set.integer_or("auto", "micro-batches",
                 "parts that a batch is cut into, the same on any number of ranks; must divide the batch "
                 "size, and is the largest number of ranks that can work",
                 micro_batches, {.least = 1, .most = 1U << 24});
}

void declare_execution(OptionSet& set, std::uint32_t& threads, Transport& transport, std::string& simd) {
  set.integer_or("auto", "threads", "threads of each CPU rank; auto shares a host's cores among its ranks",
                 threads, {.least = 1, .most = 4096});
  set.choice("transport", "how ranks exchange data; auto is shared memory within one host", transport,
             {{"auto", Transport::automatic},
              {"shared-memory", Transport::shared_memory},
              {"messages", Transport::messages}});
  set.choice("simd", "vector instructions of CPU ranks; all give the same bits", simd,
             {"auto", "avx2", "avx512", "neon"});
}

}  // namespace lockstep
