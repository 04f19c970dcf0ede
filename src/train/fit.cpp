#include "train/fit.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string describe(Shape shape, int classes) {
  return fmt::format("{}x{}x{} images and {} classes", shape.channels, shape.height, shape.width, classes);
}

}  // namespace

void check_fit(const Network& network, const Dataset& dataset) {
  if (dataset.size() == 0) {
    throw Error(Category::usage, "the data set has no samples");
  }
  if (dataset.shape() != network.input_shape() || dataset.classes() > network.classes()) {
    throw Error(Category::usage, fmt::format("the network takes {}, the data set has {}",
                                             describe(network.input_shape(), network.classes()),
                                             describe(dataset.shape(), dataset.classes())));
  }
}

}  // namespace lockstep
