#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <string>

namespace lockring {

void expect_error(ErrorCode code, std::string_view part, const std::function<void()>& f, const char* file, int line) {
  const testing::ScopedTrace trace(file, line, "expect_error");
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code(error.code()), exit_code(code)) << error.what();
    EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(part), std::string(error.what()));
    return;
  }
  ADD_FAILURE() << "no Error was thrown; expected one that says: " << part;
}

}  // namespace lockring
