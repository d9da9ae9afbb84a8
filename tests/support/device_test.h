// Tests that run on every device present: written once, as TEST_P of a fixture derived from (or an alias of)
// DeviceTest.
//
//   using SoftmaxTest = DeviceTest;
//   LOCKRING_DEVICE_TESTS(SoftmaxTest);
//   TEST_P(SoftmaxTest, SumsToOne) { Tensor x = random({3, 5}); ... }
#pragma once

#include "core/device.h"
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace lockring {

// A device of every kind present: the CPU first. In the emulated build a GPU always is.
std::vector<Device> devices();

class DeviceTest : public testing::TestWithParam<Device> {
 protected:
  static Device device() { return GetParam(); }
  // Tensors on the device under test.
  static Tensor tensor(std::initializer_list<float> values, const Shape& shape);
  static Tensor random(const Shape& shape, std::uint64_t seed = 1, float low = -1, float high = 1);
};

// How GoogleTest shows a device.
inline void PrintTo(Device device, std::ostream* out) { *out << to_string(device); }

// "cpu", "cuda_0": a device as a part of a test's name.
std::string test_name(const testing::TestParamInfo<Device>& info);

#define LOCKRING_DEVICE_TESTS(fixture) INSTANTIATE_TEST_SUITE_P(, fixture, testing::ValuesIn(devices()), test_name)

}  // namespace lockring
