// Fields of protocol buffer messages, encoded (protobuf.dev, "Encoding"). A message is its fields one after the other;
// a message within another is a field of its bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockring::app::proto {

std::string integer_field(int number, std::int64_t value);  // int32, int64, bool, enum
std::string double_field(int number, double value);
std::string float_field(int number, float value);
std::string bytes_field(int number, std::string_view value);            // bytes, string, message
std::string doubles_field(int number, std::span<const double> values);  // repeated double, packed

}  // namespace lockring::app::proto
