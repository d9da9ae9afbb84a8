#include "core/device_graph.h"

#include "core/cuda/allocator.h"
#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "core/error.h"

namespace lockring {

class DeviceGraph::Recorded {
 public:
  Recorded() = default;
  ~Recorded() {
    if (runnable_ != nullptr) cudaGraphExecDestroy(runnable_);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  bool record(const std::function<void()>& work) { return record_all(work) && blocks_.given_back(); }

  void launch() const { LOCKRING_CHECK_CUDA(cudaGraphLaunch(runnable_, cuda::current_stream())); }

 private:
  bool record_all(const std::function<void()>& work) {
    const cuda::OwnBlocks::Scope own(blocks_);
    LOCKRING_CHECK_CUDA(cudaStreamBeginCapture(cuda::current_stream(), cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (const Error& error) {
      finish();
      if (error.code() != ErrorCode::device) throw;
      return false;
    } catch (...) {
      finish();
      throw;
    }
    return finish();
  }

  // Ends the recording, whatever became of it.
  bool finish() {
    cudaGraph_t graph = nullptr;
    bool made = cudaStreamEndCapture(cuda::current_stream(), &graph) == cudaSuccess && graph != nullptr;
    made = made && cudaGraphInstantiate(&runnable_, graph, 0) == cudaSuccess;
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // a recording that failed is no failure of the device
    return made;
  }

  cuda::OwnBlocks blocks_;
  cudaGraphExec_t runnable_ = nullptr;
};

DeviceGraph::DeviceGraph(Device gpu) : gpu_(gpu) {}
DeviceGraph::~DeviceGraph() {
  if (recorded_ != nullptr) cuda::select_gpu(gpu_.index);
}

bool DeviceGraph::record(const std::function<void()>& work) {
  cuda::select_gpu(gpu_.index);
  recorded_ = std::make_unique<Recorded>();
  if (!recorded_->record(work)) recorded_ = nullptr;
  return recorded();
}

void DeviceGraph::launch() const {
  cuda::select_gpu(gpu_.index);
  recorded_->launch();
}

}  // namespace lockring
