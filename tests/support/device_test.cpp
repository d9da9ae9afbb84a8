#include "tests/support/device_test.h"

#include "core/devices.h"
#include "tests/support/tensors.h"

#include <algorithm>

namespace lockring {

std::vector<Device> devices() {
  std::vector<Device> present{Device{}};
  if (gpu_count() > 0) present.push_back({DeviceKind::cuda, 0});
  return present;
}

Tensor DeviceTest::tensor(std::initializer_list<float> values, const Shape& shape) {
  return Tensor::from(values, shape, device());
}

Tensor DeviceTest::random(const Shape& shape, std::uint64_t seed, float low, float high) {
  return random_tensor(shape, seed, low, high).to(device());
}

std::string test_name(const testing::TestParamInfo<Device>& info) {
  std::string name = to_string(info.param);
  std::ranges::replace(name, ':', '_');
  return name;
}

}  // namespace lockring
