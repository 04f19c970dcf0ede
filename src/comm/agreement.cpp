#include "comm/agreement.h"

#include <new>

namespace lockstep {

Error as_error(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {Category::resource, "out of memory"};
  } catch (const std::exception& error) {
    return {Category::internal, error.what()};
  } catch (...) {
    return {Category::internal, "unknown exception"};
  }
}

}  // namespace lockstep
