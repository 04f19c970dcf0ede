#include "core/background.h"

#include <system_error>

namespace lockstep {

std::future<void> in_background(const std::function<void()>& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    std::packaged_task<void()> here(work);
    here();
    return here.get_future();
  }
}

}  // namespace lockstep
