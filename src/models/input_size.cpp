#include "models/input_size.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

void require_input(const std::string& model, Shape input, int least) {
  if (input.height < least || input.width < least) {
    throw Error(Category::usage, fmt::format("model {} takes images of at least {}x{} pixels, not {}x{}",
                                             model, least, least, input.height, input.width));
  }
}

}  // namespace lockstep
