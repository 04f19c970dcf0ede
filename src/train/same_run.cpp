#include "train/same_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.h"
#include "data/feed/sample_reader.h"
#include "data/fingerprint.h"
#include "graph/summary.h"
#include "lockstep/error.h"
#include "lockstep/sampler.h"

namespace lockstep {
namespace {

std::uint64_t hash(const std::string& text) { return Digest(text).words()[0]; }

/// Hash of the decoded pixels of a few image files: other versions of the libraries may decode them
/// differently.
std::uint64_t hash_decoded(const Dataset& dataset) {
  constexpr std::uint64_t max_samples = 4;
  if (dataset.encoding() != Encoding::image_file) return 0;
  const Transform transform({}, dataset);
  SampleReader reader(dataset, transform);
  std::vector<std::byte> pixels(reader.sample_bytes());
  Digest digest;
  for (std::uint64_t id = 0; id < dataset.size(); id += dataset.size() / max_samples + 1) {
    try {
      digest.update(std::span(reader.read(transform.rule(), id, pixels.data()), pixels.size()));
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
    }
  }
  return digest.words()[0];
}

std::uint64_t hash(const ModelFile& file) {
  Digest digest;
  for (const TensorInfo& tensor : file.tensors()) {
    digest.update(std::as_bytes(std::span(tensor.name)));
    digest.update(file.bytes(tensor));
  }
  return digest.words()[0];
}

/// Hash of the bytes of image files: of the first ones in a fixed random order, up to 64 MiB or 4096 files.
std::uint64_t hash_files(const Dataset& dataset) {
  if (dataset.encoding() != Encoding::image_file) return 0;
  constexpr std::uint64_t max_files = 4096, max_bytes = std::uint64_t{64} << 20;
  const Permutation order(dataset.size(), 0, 0);
  VisitSum sum;
  std::vector<std::uint8_t> buffer;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < std::min(dataset.size(), max_files) && bytes < max_bytes; ++i) {
    const std::span<const std::uint8_t> file = readable_sample(dataset, order(i), buffer);
    sum.add(order(i), file);
    bytes += file.size();
  }
  return sum.words()[0];
}

std::string hex(std::uint64_t value) { return fmt::format("xxh3:{:016x}", value); }

}  // namespace

std::vector<Line> identity_of_run(const Network& network, const Dataset& train, const Dataset& test,
                                  const Dataset* validation) {
  return {{"network", hex(hash(fingerprint(network)))},
          {"training set", train.fingerprint()},
          {"test set", test.fingerprint()},
          {"validation set", validation == nullptr ? "none" : validation->fingerprint()},
          {"contents of the training files", hex(hash_files(train))},
          {"contents of the test files", hex(hash_files(test))},
          {"contents of the validation files", validation == nullptr ? "none" : hex(hash_files(*validation))},
          {"decoded pixels of the training set", hex(hash_decoded(train))},
          {"decoded pixels of the test set", hex(hash_decoded(test))}};
}

std::vector<Line> lines_of_run(const TrainerOptions& options, const std::vector<Line>& identity) {
  std::vector<Line> lines = lines_to_compare(options);
  lines.insert(lines.end(), identity.begin(), identity.end());
  return lines;
}

std::vector<Line> lines_of_evaluation(const EvaluationOptions& options, const Network& network,
                                      const ModelFile& file, const Dataset& dataset) {
  std::vector<Line> lines = lines_to_compare(options);
  lines.insert(lines.end(), {{"network", hex(hash(fingerprint(network)))},
                             {"model file", hex(hash(file))},
                             {"data set", dataset.fingerprint()},
                             {"decoded pixels of the data set", hex(hash_decoded(dataset))},
                             {"contents of the files", hex(hash_files(dataset))}});
  return lines;
}

std::vector<Line> lines_of_load(const ModelFile& file, const LoadOptions& options) {
  std::vector<Line> lines = lines_to_compare(options);
  lines.push_back({"model file", hex(hash(file))});
  return lines;
}

}  // namespace lockstep
