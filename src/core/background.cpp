#include "core/background.h"

#include <string>
#include <system_error>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {

std::thread start_thread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    throw Error(Category::resource, std::string("cannot start a thread: ") + error.what());
  }
}

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
