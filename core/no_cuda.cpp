// Stands for core/cuda in programs without it.
#include "core/device_event.h"
#include "core/device_graph.h"
#include "core/device_memory.h"
#include "core/devices.h"
#include "core/error.h"

#include <cstring>

namespace lockring {
namespace {

[[noreturn]] void fail_without_cuda(Device device) {
  fail(ErrorCode::device, "device {} is not there: this program was built without CUDA", to_string(device));
}

}  // namespace

int gpu_count() { return 0; }

GpuInfo describe_gpu(int index) { fail_without_cuda({DeviceKind::cuda, index}); }

GpuReport describe_gpus() {
  GpuReport report;
  report.missing = "this program was built without CUDA";
  return report;
}

class DeviceEvent::Marker {};
DeviceEvent::DeviceEvent(Device gpu) : gpu_(gpu) { fail_without_cuda(gpu); }
DeviceEvent::~DeviceEvent() = default;
DeviceEvent::DeviceEvent(DeviceEvent&&) noexcept = default;
DeviceEvent& DeviceEvent::operator=(DeviceEvent&&) noexcept = default;
void DeviceEvent::record() {}
void DeviceEvent::wait() const {}

class DeviceGraph::Recorded {};
DeviceGraph::DeviceGraph(Device gpu) : gpu_(gpu) {}
DeviceGraph::~DeviceGraph() = default;
bool DeviceGraph::record(const std::function<void()>&) { fail_without_cuda(gpu_); }
void DeviceGraph::launch() const { fail_without_cuda(gpu_); }

namespace device_memory {

void select(Device device) { fail_without_cuda(device); }
void* allocate(std::int64_t, Device device) { fail_without_cuda(device); }
void release(void*, std::int64_t, Device) noexcept {}
void copy(void*, Device to, const void*, Device from, std::int64_t) {
  fail_without_cuda(to.kind == DeviceKind::cpu ? from : to);
}
void clear(void* block, std::int64_t bytes, Device device) {
  if (device.kind != DeviceKind::cpu) fail_without_cuda(device);
  std::memset(block, 0, static_cast<std::size_t>(bytes));
}
void fill(float*, std::int64_t, float, Device device) { fail_without_cuda(device); }
void add(Reals, ConstReals, std::int64_t, Device device) { fail_without_cuda(device); }
void synchronize(Device device) {
  if (device.kind != DeviceKind::cpu) fail_without_cuda(device);
}
Storage allocate_pinned(std::int64_t bytes) { return Storage::allocate(bytes); }
void copy_async(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
  copy(to, to_device, from, from_device, bytes);
}

}  // namespace device_memory
}  // namespace lockring
