#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/random/philox.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep::test {

/// The only World of a test program, as MPI starts once per process.
inline World& world() {
  static World the_world(nullptr, nullptr);
  return the_world;
}

/// Images of noise with a bright square whose row is the class: easy to learn.
class Synthetic : public Dataset {
 public:
  /// Changes the bytes of a sample whenever it is read, or throws.
  std::function<void(std::uint64_t id, std::vector<std::uint8_t>& bytes)> change;
  Encoding kind = Encoding::pixels;
  std::vector<std::string> names;  ///< of classes; empty: Dataset's
  std::string sample_word;         ///< in names of samples, before their numbers; empty: Dataset's names

  Synthetic(std::uint64_t size, Shape shape, int classes) : shape_(shape), classes_(classes) {
    for (std::uint64_t id = 0; id < size; ++id) {
      labels_.push_back(static_cast<int>(id * 7 % static_cast<std::uint64_t>(classes)));
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto bits = philox(id, {static_cast<std::uint32_t>(i), 0, 0, 99});
        const auto row = static_cast<int>(i) / shape.width % shape.height;
        const bool bright = row * classes / shape.height == labels_.back();
        pixels_.push_back(static_cast<std::uint8_t>(bright ? 255 : bits[0] % 100));
      }
    }
  }
  /// Gives the samples targets for another task, derived from their classes. Regression: the class as a
  /// number in the unit of target_scale(). Multilabel: for each class, whether it is at most the class of the
  /// sample.
  void set_task(Task task) {
    task_ = task;
    targets_.clear();
    for (const int label : labels_) {
      if (task == Task::regression) targets_.push_back(static_cast<float>(label) - 1.5F);
      for (int k = 0; task == Task::multilabel && k < classes_; ++k) targets_.push_back(k <= label ? 1 : 0);
    }
  }
  /// A copy of this data set in which samples for which `which` is true cannot be read: "sample N: damaged".
  Synthetic damaged(const std::function<bool(std::uint64_t id)>& which,
                    Category reason = Category::data) const {
    Synthetic set = *this;
    set.change = [which, reason, change = change](std::uint64_t id, std::vector<std::uint8_t>& bytes) {
      if (which(id)) throw Error(reason, "sample " + std::to_string(id) + ": damaged");
      if (change) change(id, bytes);
    };
    return set;
  }
  Task task() const override { return task_; }
  TargetScale target_scale() const override {
    return task_ == Task::regression ? TargetScale{.mean = 10.0, .deviation = 2.0} : TargetScale();
  }
  std::span<const float> targets(std::uint64_t id) const override {
    const auto count = static_cast<std::size_t>(classes());
    return std::span(targets_).subspan(id * count, count);
  }

  std::uint64_t size() const override { return labels_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return task_ == Task::regression ? 1 : classes_; }
  Encoding encoding() const override { return kind; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const auto pixels = std::span(pixels_).subspan(id * shape_.size(), shape_.size());
    if (!change) return pixels;
    buffer.assign(pixels.begin(), pixels.end());
    change(id, buffer);
    return buffer;
  }
  int label(std::uint64_t id) const override { return labels_[id]; }
  std::vector<std::string> class_names() const override {
    return names.empty() ? Dataset::class_names() : names;
  }
  std::string sample_name(std::uint64_t id) const override {
    return sample_word.empty() ? Dataset::sample_name(id) : sample_word + std::to_string(id);
  }

 private:
  Shape shape_;
  int classes_;
  std::vector<std::uint8_t> pixels_;
  std::vector<int> labels_;
  Task task_ = Task::classification;
  std::vector<float> targets_;
};

}  // namespace lockstep::test
