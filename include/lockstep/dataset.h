#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep {

class World;

/// Labelled images, random access. Thread-safe: const and without state.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint64_t size() const = 0;
  virtual Shape shape() const = 0;
  virtual int classes() const = 0;
  /// Pixels of sample `id`, [channel][row][column], 0..255; training sees value / 255. id < size().
  virtual std::span<const std::uint8_t> image(std::uint64_t id) const = 0;
  /// Class of sample `id`, in [0, classes()).
  virtual int label(std::uint64_t id) const = 0;
};

struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

/// Opens the data set `name`. `directory` empty: where the system keeps it (each data set knows). One copy
/// per host, shared by its ranks (a private copy where hosts do not allow that). Collective. Throws
/// Error(usage) for an unknown name (naming the nearest known one), Error(data) for missing or bad files,
/// on all ranks.
DatasetPair open_dataset(const World& world, const std::string& name, const std::string& directory);

/// Names that open_dataset knows.
std::vector<std::string> dataset_names();

}  // namespace lockstep
