#include "lockstep/execution.h"

namespace lockstep {

const char* name_of(DataType dtype) {
  switch (dtype) {
    case DataType::fp32:
      return "fp32";
    case DataType::tf32:
      return "tf32";
    case DataType::bf16:
      return "bf16";
  }
  return "unknown";
}

}  // namespace lockstep
