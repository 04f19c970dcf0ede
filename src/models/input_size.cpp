#include "models/input_size.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

void require_input(const std::string& model, Shape input, int least) {
  if (input.height < least || input.width < least) {
    const bool table = input.height == 1 && input.width == 1;
    throw Error(Category::usage,
                fmt::format("model {} takes images of at least {}x{} pixels, not {}x{}{}", model, least,
                            least, input.height, input.width, table ? ": model mlp takes tables" : ""));
  }
}

}  // namespace lockstep
