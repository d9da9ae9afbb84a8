#include "core/device_event.h"

#include "core/cuda/stream.h"

namespace lockring {

class DeviceEvent::Marker : public cuda::Event {};

DeviceEvent::DeviceEvent(Device gpu) : gpu_(gpu) {
  cuda::select_gpu(gpu.index);
  marker_ = std::make_unique<Marker>();
}
DeviceEvent::~DeviceEvent() = default;
DeviceEvent::DeviceEvent(DeviceEvent&&) noexcept = default;
DeviceEvent& DeviceEvent::operator=(DeviceEvent&&) noexcept = default;

void DeviceEvent::record() {
  cuda::select_gpu(gpu_.index);
  marker_->record(cuda::current_stream());
}

void DeviceEvent::wait() const { marker_->synchronize(); }

}  // namespace lockring
