#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

/// Expects that `work` throws an Error of `category` with a message of one line that holds all `parts`.
inline void expect_error(Category category, const std::vector<std::string>& parts,
                         const std::function<void()>& work) {
  try {
    work();
    ADD_FAILURE() << "no error; expected: " << (parts.empty() ? "" : parts.front());
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.category(), category) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "message: " << message << "\nlacks: " << part;
    }
  }
}

}  // namespace lockstep
