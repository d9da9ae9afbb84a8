// What an option's value may be: app.add_option(...)->check(...) with messages that say what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace lockring::app {

// These words only; an error suggests the nearest.
CLI::Validator one_of(std::vector<std::string> words);
// Numbers above `limit`.
CLI::Validator above(double limit);
// Numbers of at least `least` and at most `most`.
CLI::Validator within(double least, double most);

// "512", "64K", "512M", "2G" or "1T", also with "iB" or "B" behind it, in bytes. Throws Error{usage} that names
// `option` on anything else.
std::int64_t parse_bytes(const std::string& text, const std::string& option);

// "90s", "30m", "12h" or "7d", in seconds; in the same way.
std::int64_t parse_seconds(const std::string& text, const std::string& option);

// "25Gbit", "100Mbit" or "9600bit", in bits a second (powers of ten); in the same way. Above 0.
double parse_rate(const std::string& text, const std::string& option);

// "20us", "1.5ms", "300ns" or "2s", in seconds; in the same way.
double parse_short_time(const std::string& text, const std::string& option);

// Checks that the values given to numeric options are numbers: CLI11 would bend integers into range, wrap negative
// unsigned ones, and take nan for a number of any range. Throws Error{usage}.
void check_values(const CLI::App& app);

}  // namespace lockring::app
