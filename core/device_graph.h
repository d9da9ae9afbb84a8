// Work of a GPU that is recorded once and then asked for again and again as a whole: one call instead of one for each
// kernel.
//
// What is recorded keeps its addresses. Memory that it takes for itself belongs to the graph from then on; whatever
// changes from launch to launch it has to read from memory that was there before.
#pragma once

#include "core/device.h"

#include <functional>
#include <memory>

namespace lockring {

// Of one thread and its stream on the GPU.
class DeviceGraph {
 public:
  explicit DeviceGraph(Device gpu);
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;

  // Records what `work` asks of the GPU, none of which runs. False if something in it cannot be recorded (what waits,
  // say, or keeps memory beyond it); then there is no graph. Passes on what `work` throws other than Error{device}.
  bool record(const std::function<void()>& work);
  bool recorded() const { return recorded_ != nullptr; }
  // Returns before it has run. What is asked of the thread's stream comes before and after it, as always.
  void launch() const;

 private:
  class Recorded;

  Device gpu_;
  std::unique_ptr<Recorded> recorded_;
};

}  // namespace lockring
