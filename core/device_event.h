// A place in what a thread has asked of a GPU, which the thread can wait for.
#pragma once

#include "core/device.h"

#include <memory>

namespace lockring {

// Of one thread.
class DeviceEvent {
 public:
  explicit DeviceEvent(Device gpu);
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&&) noexcept;
  DeviceEvent& operator=(DeviceEvent&&) noexcept;

  // Here: after all that the thread has asked of the GPU so far.
  void record();
  // Returns when the GPU has come to the place of the last record().
  void wait() const;

 private:
  class Marker;

  Device gpu_;
  std::unique_ptr<Marker> marker_;
};

}  // namespace lockring
