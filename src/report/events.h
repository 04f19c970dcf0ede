#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep {

// What a run tells about itself. Losses are means over samples, accuracies are in [0, 1].

struct StepEvent {
  int epoch = 1;            ///< from 1
  int epochs = 1;           ///< of the whole run
  std::uint64_t step = 1;   ///< from 1 over the whole run
  std::uint64_t steps = 0;  ///< of the whole run; 0: not known
  std::uint64_t samples = 0;
  double loss = 0.0;  ///< over the global batch, before the update
  float learning_rate = 0.0F;
  double seconds = 0.0;
};

struct EpochEvent {
  int epoch = 1;
  int epochs = 1;
  double train_loss = 0.0;
  double train_accuracy = 0.0;
  std::optional<double> test_loss{};
  std::optional<double> test_accuracy{};
  std::optional<double> validation_loss{};
  std::optional<double> validation_accuracy{};
  /// Samples that could not be read: of training, of the test.
  std::uint64_t train_left_out = 0;
  std::uint64_t test_left_out = 0;
  double images_per_second = 0.0;  ///< training only
  double seconds = 0.0;            ///< training only
};

struct EndEvent {
  std::string digest;  ///< "xxh3:" and 32 hexadecimal digits
  std::string note{};  ///< what to know about the digest; may be empty
};

}  // namespace lockstep
