// The program: finds the command, runs it, and turns errors into one line on stderr and an exit code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

// "0.1.0"
std::string_view version();

// Exit codes: 0, what the command returned, the Error's, or 1 for any other exception. Never throws. Writing to a
// closed pipe ends the command quietly; other failures to write the output are errors.
int run_program(const std::vector<std::string>& arguments);

}  // namespace lockring::app
