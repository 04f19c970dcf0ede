#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench.h"
#include "cli/model/model_summary.h"
#include "comm/communicator.h"
#include "core/clock.h"
#include "core/json/members.h"
#include "core/options/text.h"
#include "data/feed/micro_batch_reader.h"
#include "data/image/decoder.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/error.h"
#include "ops/cpu/level.h"
#include "run/sinks/progress_text.h"

namespace lockstep {
namespace {

/// Elapsed time, and CPU time of this thread.
struct Seconds {
  double wall = 0.0;
  double core = 0.0;

  static Seconds now() { return {steady_seconds(), clock_seconds(CLOCK_THREAD_CPUTIME_ID)}; }
  void add_since(const Seconds& start) {
    const Seconds end = now();
    wall += end.wall - start.wall;
    core += end.core - start.core;
  }
};

struct SourceBatch {
  MicroBatchRule rule;       ///< rule of its epoch
  std::uint32_t number = 0;  ///< number in the epoch
  std::vector<std::uint64_t> ids = {};
};

/// Micro-batches of the measured training steps, one epoch after the other.
struct Source {
  const Dataset& dataset;
  Transform transform;
  BadSamples bad;
  std::uint32_t micro_batch;
  std::uint64_t micro_batches;  ///< total over all ranks

  Source(const Dataset& train, const BenchOptions& options, std::uint32_t parts)
      : dataset(train),
        transform(options.input, train, options.augment),
        bad(options.input.strict),
        micro_batch(static_cast<std::uint32_t>(options.batch.size) / parts),
        micro_batches(static_cast<std::uint64_t>(options.steps) * parts) {}

  /// Micro-batch `number`, counted over all epochs from 0.
  SourceBatch find(std::uint64_t number) const {
    const std::uint64_t per_epoch = (dataset.size() + micro_batch - 1) / micro_batch;
    const std::uint64_t first = number % per_epoch * micro_batch;
    SourceBatch found{.rule = transform.rule(), .number = static_cast<std::uint32_t>(number % per_epoch)};
    found.rule.start_epoch(static_cast<std::uint32_t>(number / per_epoch));
    found.ids.resize(std::min<std::uint64_t>(micro_batch, dataset.size() - first));
    for (std::uint64_t i = 0; i < found.ids.size(); ++i) found.ids[i] = found.rule.id(first + i);
    return found;
  }
};

/// Reads micro-batches as a training step does. One object per executor.
class Loading {
 public:
  explicit Loading(Source& source)
      : reader_(source.dataset, source.transform, source.bad, source.micro_batch) {}

  /// Reads a micro-batch and adds the time to `seconds`.
  void read(const SourceBatch& batch, Seconds& seconds) {
    const Seconds start = Seconds::now();
    reader_.read(batch.rule, batch.number, batch.ids);
    seconds.add_since(start);
  }

 private:
  MicroBatchReader reader_;
};

/// Decodes the same parts of image files as Loading, at the same scale, without further processing. One
/// object per executor.
class Decoding {
 public:
  explicit Decoding(Source& source) : source_(source) {}

  /// Decodes a micro-batch and adds the decoder's time, without file reads, to `seconds`.
  void read(const SourceBatch& batch, Seconds& seconds) {
    for (const std::uint64_t id : batch.ids) {
      try {
        const auto file = source_.dataset.sample(id, file_);
        const Seconds start = Seconds::now();
        decode(file, batch.rule.visit(id));
        seconds.add_since(start);
      } catch (const Error& error) {
        source_.bad.add(id, fmt::format("{}: {}", source_.dataset.sample_name(id), error.what()));
      }
    }
  }

 private:
  void decode(std::span<const std::uint8_t> file, const SampleVisit& visit) {
    const Shape shape = source_.dataset.shape();
    const Box box = source_.transform.frame(decoder_.open(file), visit);
    decoder_.decode(box, {shape.width, shape.height}, shape.channels, part_);
  }

  Source& source_;
  ImageDecoder decoder_;
  ImagePart part_;
  std::vector<std::uint8_t> file_;
};

struct Rate {
  double images = 0.0;
  double core_seconds = 0.0;
  double images_per_second = 0.0;  ///< sum over the executors

  void add(const Rate& other) {
    images += other.images;
    core_seconds += other.core_seconds;
    images_per_second += other.images_per_second;
  }
};

struct Speed {
  double images_per_s = 0.0;
  double images_per_s_per_core = 0.0;  ///< per second of processor time
};
LOCKSTEP_MEMBERS(Speed, images_per_s, images_per_s_per_core)

std::string text_of(const char* what, const Speed& speed) {
  return fmt::format("{:<8}  {:>10.0f}  {:>10.0f}\n", what, speed.images_per_s, speed.images_per_s_per_core);
}

struct DataResults {
  int ranks = 0;
  std::size_t threads = 0;        ///< threads of each rank
  Shape shape;                    ///< shape of a sample
  std::optional<Speed> decode{};  ///< only for image files
  Speed load{};
};
LOCKSTEP_MEMBERS(DataResults, ranks, threads, shape, decode, load)

/// Reads micro-batches on one executor until none are left; reads the first one twice, the first time
/// unmeasured.
template <typename Reader>
Rate read_some(Source& source, std::atomic<std::uint64_t>& next, std::uint64_t ranks) {
  Reader reader(source);
  double images = 0.0;
  Seconds seconds;
  for (auto number = next.fetch_add(ranks); number < source.micro_batches; number = next.fetch_add(ranks)) {
    const SourceBatch batch = source.find(number);
    if (images == 0.0) {
      Seconds unwatched;
      reader.read(batch, unwatched);
    }
    reader.read(batch, seconds);
    images += static_cast<double>(batch.ids.size());
  }
  return {images, seconds.core, images > 0.0 ? images / seconds.wall : 0.0};
}

/// Measures reading all of `source` on the executors of all ranks.
template <typename Reader>
Speed measure(const World& world, const BenchOptions& options, Device& device, Source& source) {
  std::vector<Rate> rates(device.streams().size());
  std::atomic<std::uint64_t> next = static_cast<std::uint64_t>(world.rank());
  const auto ranks = static_cast<std::uint64_t>(world.size());
  const auto program = device.record([&] {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      device.streams()[i]->call([&, i] { rates[i] = read_some<Reader>(source, next, ranks); }, Phase::load);
    }
  });
  world.barrier();
  program->run();
  Rate own, all;
  for (const Rate& rate : rates) own.add(rate);
  const auto communicator = make_communicator(world, options.execution.transport);
  for (const Rate& rate : all_gather(*communicator, own)) all.add(rate);
  return {all.images_per_second, all.images / all.core_seconds};
}

}  // namespace

int bench_data(World& world, const BenchOptions& options) {
  const DatasetPair data = open_dataset(world, options.data);
  std::optional<Source> source;
  std::unique_ptr<Device> device;
  world.agree([&] {
    cpu::best_level();  // throws on a processor without the instructions for resizing
    source.emplace(*data.train, options,
                   static_cast<std::uint32_t>(micro_batches_of(options.batch, DeviceKind::cpu)));
    const int cores = available_cores(world.local_rank(), world.local_size());
    device = make_cpu_device({.threads = options.execution.threads > 0 ? options.execution.threads : cores,
                              .local_rank = world.local_rank(),
                              .local_size = world.local_size()});
  });
  const ResultPrinter printer(options.results, world.rank() == 0);
  DataResults results{
      .ranks = world.size(), .threads = device->streams().size(), .shape = data.train->shape()};
  printer.text(fmt::format("ranks {}  threads {}  samples of {}\n{:<8}  {:>10}  {:>10}\n", results.ranks,
                           results.threads, value_text(results.shape), "",
                           speed_unit(kind_of(data.train->encoding())), "per core"));
  if (data.train->encoding() == Encoding::image_file) {
    results.decode = measure<Decoding>(world, options, *device, *source);
    printer.text(text_of("decode", *results.decode));
  }
  results.load = measure<Loading>(world, options, *device, *source);
  printer.text(text_of("load", results.load));
  if (results.decode) {
    const double share = results.load.images_per_s_per_core / results.decode->images_per_s_per_core;
    printer.text(fmt::format("per core, load reaches {:.0f} % of decode\n", 100.0 * share));
  }
  printer.finish(results);
  return 0;
}

}  // namespace lockstep
