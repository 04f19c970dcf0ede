#include "run/tensorboard/event_records.h"

#include "lockstep/error.h"

namespace lockstep::tensorboard {

void check_available() {
  throw Error(Category::resource,
              "this program was built without protobuf, which event files need: " LOCKSTEP_PROTOBUF_MISSING,
              "tensorboard");
}

void append_start(std::string& /*bytes*/, double /*wall_time*/) { check_available(); }

void append_record(std::string& /*bytes*/, const Summary& /*summary*/, double /*wall_time*/) {
  check_available();
}

}  // namespace lockstep::tensorboard
