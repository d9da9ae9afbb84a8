#include "tests/support/device_test.h"

#include "core/error.h"
#include "tests/support/tensors.h"

#include <algorithm>

namespace lockring {
namespace {

Tensor on_device(const Tensor& tensor, Device device) {
  check(device.kind == DeviceKind::cpu, ErrorCode::device, "no tests run on device {}", to_string(device));
  return tensor;
}

}  // namespace

std::vector<Device> devices() { return {Device{}}; }

Tensor DeviceTest::tensor(std::initializer_list<float> values, const Shape& shape) {
  return on_device(Tensor::from(values, shape), device());
}

Tensor DeviceTest::random(const Shape& shape, std::uint64_t seed, float low, float high) {
  return on_device(random_tensor(shape, seed, low, high), device());
}

std::string test_name(const testing::TestParamInfo<Device>& info) {
  std::string name = to_string(info.param);
  std::ranges::replace(name, ':', '_');
  return name;
}

}  // namespace lockring
