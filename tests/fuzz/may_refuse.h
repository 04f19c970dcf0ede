#pragma once

#include "lockstep/error.h"

/// Reads the input of a fuzzer. An error of `category` refuses it; others end the fuzzer.
template <class Read>
int may_refuse(const Read& read, lockstep::Category category = lockstep::Category::data) {
  try {
    read();
  } catch (const lockstep::Error& error) {
    if (error.category() != category) throw;
  }
  return 0;
}
