// Where memory lies and kernels run. A replica has one device: the CPU (one thread) or one GPU.
#pragma once

#include <cstdint>
#include <string>

namespace lockring {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  bool operator==(const Device&) const = default;
};

inline std::string to_string(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace lockring
