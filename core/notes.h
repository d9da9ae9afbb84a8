// What works, but not as well as it should, and people ought to know: the library never prints, so it says so here, and
// the program tells them. Any thread.
#pragma once

#include <string>
#include <vector>

namespace lockring {

// The same text is kept once, however often it is said.
void say_once(const std::string& text);
// What was said since this was last called, in its order.
std::vector<std::string> take_notes();

}  // namespace lockring
