// Checks that something throws an Error of a code, with a message that names what matters.
#pragma once

#include "core/error.h"

#include <functional>
#include <string_view>

namespace lockring {

// Fails the running test unless `f` throws Error{code} whose message contains `part`.
void expect_error(ErrorCode code, std::string_view part, const std::function<void()>& f,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace lockring
