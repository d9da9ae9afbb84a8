#include "apps/http/request_id.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <random>

namespace lockring::app::http {
namespace {

bool is_sane(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_.:/+=").find(c) != std::string_view::npos;
  });
}

// SplitMix64 of a counter that starts anywhere: each value once in 2^64 (Steele, Lea and Flood, 2014).
std::uint64_t next_number() {
  thread_local std::uint64_t state = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::string request_id(std::string_view given) {
  if (is_sane(given)) return std::string(given);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id(16, '0');
  std::uint64_t number = next_number();
  for (char& digit : id) {
    digit = kDigits[number % 16];
    number /= 16;
  }
  return id;
}

}  // namespace lockring::app::http
