#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep {

class World;

/// How a data set keeps its samples.
enum class Encoding {
  pixels,      ///< uint8, [channel][row][column] of the data set's shape
  floats,      ///< float32 of the machine's byte order, aligned as floats; as many as the shape has elements
  image_file,  ///< a JPEG or PNG file of any size
};

/// Labelled samples, random access. Thread-safe: const and without state.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint64_t size() const = 0;
  /// What the network sees of a sample.
  virtual Shape shape() const = 0;
  virtual int classes() const = 0;
  virtual Encoding encoding() const { return Encoding::pixels; }
  /// Bytes of sample `id` in that encoding: memory of the data set, or read into `buffer` (which grows and is
  /// used again). id < size(). Throws Error(data) for a sample that cannot be read.
  virtual std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const = 0;
  /// Class of sample `id`, in [0, classes()).
  virtual int label(std::uint64_t id) const = 0;
  /// Hash that differs where samples, labels or their order differ, wherever the files lie: 32 hexadecimal
  /// digits. Reads all samples here; data sets that are files know better. Samples that cannot be read count
  /// as empty.
  virtual std::string fingerprint() const;
  /// Where sample `id` comes from, for messages: a file's path, or "sample 17".
  virtual std::string sample_name(std::uint64_t id) const;
  /// Names of the classes, in order; empty where they have none.
  virtual std::vector<std::string> class_names() const { return {}; }
  /// What lies among its files without being a sample, as a line for a warning; empty where nothing does.
  virtual std::string passed_over() const { return {}; }
};

/// Training and test samples: the same shape, classes and encoding.
struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

/// What data sets can be told. One that has no use for an option of others refuses another value than the
/// default.
struct DatasetOptions {
  std::string directory = {};      ///< of the files; empty: where the system keeps them
  int image_size = 224;            ///< images: rows and columns that the network sees
  int channels = 3;                ///< images: 3 (colour) or 1 (grey), whatever the files hold
  std::string label_column = {};   ///< csv: its name; empty: "label", or the last column without one
  double test_fraction = 0.0;      ///< csv, images: part held out where there is no test set, in [0, 1)
  Shape shape = {3, 32, 32};       ///< synthetic
  int classes = 10;                ///< synthetic
  std::uint64_t samples = 10'000;  ///< synthetic: of the training set; the test set has a fifth as many

  bool operator==(const DatasetOptions&) const = default;
};

/// Opens the data set `name`. One copy of what is held in memory per host, shared by its ranks (a private
/// copy where hosts do not allow that). Collective. Throws Error(usage) for an unknown name (naming the
/// nearest known one) or impossible options, Error(data) for missing or bad files, on all ranks.
DatasetPair open_dataset(const World& world, const std::string& name, const DatasetOptions& options = {});

/// Names that open_dataset knows.
std::vector<std::string> dataset_names();

}  // namespace lockstep
