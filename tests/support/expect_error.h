#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/error.h"
#include "support/text.h"

namespace lockstep {

/// The Error that `work` throws; null: none.
inline std::optional<Error> error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Expects that `work` throws an Error of `category` with a message of one line that holds all `parts`.
inline void expect_error(Category category, const std::vector<std::string>& parts,
                         const std::function<void()>& work) {
  const std::optional<Error> error = error_of(work);
  ASSERT_TRUE(error) << "no error; expected: " << (parts.empty() ? "" : parts.front());
  const std::string message = error->what();
  EXPECT_EQ(error->category(), category) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const std::string& part : parts) test::expect_holds(message, part);
}

/// Expects that `work` throws an Error of `category` with the message `text`.
inline void expect_exact_error(Category category, const std::string& text,
                               const std::function<void()>& work) {
  const std::optional<Error> error = error_of(work);
  ASSERT_TRUE(error) << "no error; expected: " << text;
  EXPECT_EQ(error->what(), text);
  EXPECT_EQ(error->category(), category) << text;
}

}  // namespace lockstep
