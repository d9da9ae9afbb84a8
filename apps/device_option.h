// --device: where a command computes, the same option for every command.
#pragma once

#include "core/device.h"
#include "core/dtype.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockring::app {

struct DeviceChoice {
  std::vector<Device> devices;  // the CPU alone, or GPUs: those that replicas take in turn
  std::string note;             // why it is the CPU although the program can use GPUs; empty otherwise

  bool on_gpu() const { return devices[0].kind == DeviceKind::cuda; }
};

// "auto" (GPUs if there are any, else the CPU), "cpu", "cuda" or "cuda:N". Of `places` ranks on this machine, each
// takes the GPU of its own `place`; one alone has all. Throws Error{usage} on another text, Error{device} if the GPU
// asked for is not there.
DeviceChoice choose_devices(const std::string& text, int place = 0, int places = 1);
// The same for one process, which says the note on stderr.
DeviceChoice choose_devices_and_say(const std::string& text);

void add_device_option(CLI::App& app, std::string& device);

// --precision: what training computes with, "float32" or on GPUs "bf16".
void add_precision_option(CLI::App& app, std::string& precision);
// Throws Error{usage} where bfloat16 is asked of a CPU.
DType parse_precision(const std::string& precision, const DeviceChoice& choice);

}  // namespace lockring::app
