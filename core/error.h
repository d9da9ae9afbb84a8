// The one error type of Lockring.
//
// Thrown for what users, files, peers and devices do wrong; our own bugs are `assert`s. The library never prints and
// never exits: `main` turns an Error into one line on stderr and `exit_code(code)`.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace lockring {

// The value is the process's exit code.
enum class ErrorCode {
  other = 1,
  usage = 2,     // a wrong option, name or size
  data = 3,      // a file that is missing, damaged or not what it should be
  device = 4,    // a device or a peer that failed
  diverged = 5,  // a loss or gradient that is not finite
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

inline int exit_code(ErrorCode code) { return static_cast<int>(code); }

// Throws Error{code}. The message says what was expected, what was found, and where.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws Error{code} unless `ok`.
template <class... Args>
void check(bool ok, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(code, format, std::forward<Args>(args)...);
}

// Throws Error{usage} unless `ok`: the form for wrong arguments, sizes and shapes.
template <class... Args>
void check(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(ErrorCode::usage, format, std::forward<Args>(args)...);
}

}  // namespace lockring
