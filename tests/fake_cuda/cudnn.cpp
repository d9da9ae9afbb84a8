#include <cudnn.h>

#include "ops/conv2d_kernel.h"
#include "tests/fake_cuda/bf16_values.h"
#include "tests/fake_cuda/machine.h"

#include <algorithm>
#include <cstring>
#include <vector>

struct cudnnContext {
  int device;
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  bool set = false;
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  bool bf16 = false;
  std::size_t count() const { return static_cast<std::size_t>(n * c * h * w); }
  std::size_t bytes() const { return count() * (bf16 ? 2 : 4); }
};
struct cudnnFilterStruct : cudnnTensorStruct {};

struct cudnnConvolutionStruct {
  bool set = false;
  std::int64_t padding = 0, stride = 1;
};

using namespace fake_cuda;

namespace {

using lockring::ConvShape;
using Tensor = cudnnTensorStruct;

cudnnStatus_t refused(const std::string& what) {
  misuse(cudaErrorInvalidValue, what);
  cudaGetLastError();  // it is no error of CUDA's
  return CUDNN_STATUS_BAD_PARAM;
}

constexpr std::size_t kAlignment = 16;

// The buffers of a convolution, in whatever direction.
struct Call {
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t x_shape;
  const void* x;
  cudnnFilterDescriptor_t w_shape;
  const void* w;
  cudnnTensorDescriptor_t y_shape;
  const void* y;
  cudnnConvolutionDescriptor_t convolution;
  void* workspace;
  std::size_t workspace_bytes;

  ConvShape shape() const {
    return {.n = x_shape->n,
            .h = x_shape->h,
            .w = x_shape->w,
            .in = x_shape->c,
            .oh = y_shape->h,
            .ow = y_shape->w,
            .out = y_shape->c,
            .kh = w_shape->h,
            .kw = w_shape->w,
            .stride = convolution->stride,
            .padding = convolution->padding};
  }
};

std::int64_t result_size(std::int64_t size, std::int64_t kernel, const cudnnConvolutionStruct& convolution) {
  return (size + 2 * convolution.padding - kernel) / convolution.stride + 1;
}

cudnnStatus_t check_shapes(const Call& call) {
  if (call.handle == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
  if (cudaPeekAtLastError() != cudaSuccess) return refused("an error that nobody has taken");
  if (call.handle->device != current_device()) return refused("a handle of another device than the current one");
  if (call.handle->stream == nullptr) return refused("a handle without a stream");
  if (!call.x_shape->set || !call.w_shape->set || !call.y_shape->set || !call.convolution->set)
    return refused("a descriptor that was not set");
  const bool fits = call.x_shape->c == call.w_shape->c && call.y_shape->c == call.w_shape->n &&
                    call.x_shape->n == call.y_shape->n &&
                    call.y_shape->h == result_size(call.x_shape->h, call.w_shape->h, *call.convolution) &&
                    call.y_shape->w == result_size(call.x_shape->w, call.w_shape->w, *call.convolution);
  if (!fits) return refused("descriptors whose sizes do not fit");
  const bool one_type = call.x_shape->bf16 == call.w_shape->bf16 && call.x_shape->bf16 == call.y_shape->bf16;
  return one_type ? CUDNN_STATUS_SUCCESS : refused("tensors of several types");
}

cudnnStatus_t check_buffers(const Call& call, std::size_t least_workspace) {
  if (const cudnnStatus_t status = check_shapes(call); status != CUDNN_STATUS_SUCCESS) return status;
  const int device = current_device();
  if (!on_device(call.x, call.x_shape->bytes(), device) || !on_device(call.w, call.w_shape->bytes(), device) ||
      !on_device(call.y, call.y_shape->bytes(), device))
    return refused("a tensor beyond its block, or in the CPU's memory");
  for (const void* block : {call.x, call.w, call.y})
    if (reinterpret_cast<std::uintptr_t>(block) % kAlignment != 0) return refused("a tensor that is not aligned");
  if (call.workspace_bytes < least_workspace) return refused("a workspace that is too small");
  if (call.workspace_bytes > 0 && !on_device(call.workspace, call.workspace_bytes, device))
    return refused("a workspace beyond its block");
  return CUDNN_STATUS_SUCCESS;
}

// What algorithm `index` needs for a shape; one of the two needs nothing. None is for one channel of bfloat16.
constexpr int kUnsteady = 3;
std::size_t workspace_of(int index, const Call& call) { return index != 1 ? 0 : 512 + call.x_shape->bytes() / 4; }

// The better algorithm first; which one that is depends on the shape. Timing has overwritten the result. The fastest of
// all is one that does not repeat its bits, which run() refuses.
template <class Results>
cudnnStatus_t find(const Call& call, void* result, std::size_t result_bytes, int wanted, int* found, Results* results) {
  *found = 0;
  if (refuse_while_capturing("algorithms were measured") != cudaSuccess) return CUDNN_STATUS_EXECUTION_FAILED;
  if (const cudnnStatus_t status = check_buffers(call, 0); status != CUDNN_STATUS_SUCCESS) return status;
  if (refuse_while_capturing("measuring an algorithm") != cudaSuccess) return CUDNN_STATUS_EXECUTION_FAILED;
  {
    const std::lock_guard lock(machine_lock());
    ++counters().measurements;
  }
  enqueue(call.handle->stream, [=] { std::memset(result, 0xFF, result_bytes); });
  const int best = static_cast<int>((call.x_shape->h + call.x_shape->c) % 2);
  for (const int index : {kUnsteady, best, 1 - best}) {
    if (*found == wanted || refusal() == Refusal::algorithms) break;
    auto& entry = results[(*found)++];
    entry = {};
    entry.algo = static_cast<decltype(entry.algo)>(index);
    entry.memory = workspace_of(index, call);
    const bool supported = entry.memory <= call.workspace_bytes && !(call.x_shape->bf16 && call.x_shape->c == 1);
    entry.status = supported ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
    entry.determinism = index == kUnsteady ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
    entry.time = static_cast<float>(*found);
  }
  return CUDNN_STATUS_SUCCESS;
}

// Runs `compute` later if the call is right.
template <class Compute>
cudnnStatus_t run(const Call& call, int algorithm, const void* alpha, const void* beta, Compute compute) {
  if (refusal() == Refusal::calls) return CUDNN_STATUS_NOT_SUPPORTED;
  if (algorithm != 0 && algorithm != 1) return refused("an algorithm that there is not");
  if (const cudnnStatus_t status = check_buffers(call, workspace_of(algorithm, call)); status != CUDNN_STATUS_SUCCESS)
    return status;
  const float keep = *static_cast<const float*>(beta);
  if (*static_cast<const float*>(alpha) != 1 || (keep != 0 && keep != 1) || (keep == 1 && call.x_shape->bf16))
    return refused("scales that are not emulated");
  const ConvShape shape = call.shape();
  const cudnnTensorStruct x = *call.x_shape;
  const cudnnTensorStruct w = *call.w_shape;
  const cudnnTensorStruct y = *call.y_shape;
  const cudaError_t error = enqueue(call.handle->stream, [=] {
    if (call.workspace_bytes > 0) std::memset(call.workspace, 0xFF, call.workspace_bytes);
    compute(shape, x, w, y, keep == 1);
  });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

template <class T>
cudnnStatus_t create(T** descriptor) {
  *descriptor = new T;
  return CUDNN_STATUS_SUCCESS;
}
template <class T>
cudnnStatus_t destroy(T* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set(cudnnTensorStruct& to, cudnnTensorFormat_t format, cudnnDataType_t type, int n, int c, int h, int w) {
  if (format != CUDNN_TENSOR_NHWC) return refused("another layout than NHWC");
  if (n < 1 || c < 1 || h < 1 || w < 1) return refused("a tensor of no elements");
  to.set = true;
  to.bf16 = type == CUDNN_DATA_BFLOAT16;
  to.n = n;
  to.c = c;
  to.h = h;
  to.w = w;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

const char* cudnnGetErrorString(cudnnStatus_t) { return cudaGetErrorString(cudaErrorInvalidValue); }
std::size_t cudnnGetVersion() { return 91900; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext{current_device()};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* d) { return create(d); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* d) { return create(d); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* d) { return create(d); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) { return destroy(d); }

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  return set(*descriptor, format, type, n, c, h, w);
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return set(*descriptor, format, type, k, c, h, w);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (pad_h != pad_w || stride_h != stride_w || stride_h < 1 || dilation_h != 1 || dilation_w != 1 ||
      mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT)
    return refused("another convolution than Lockring's");
  *descriptor = {true, pad_h, stride_h};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t x_shape,
                                                     const void* x, cudnnFilterDescriptor_t w_shape, const void* w,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t y_shape, void* y, int wanted, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results, void* workspace,
                                                     std::size_t workspace_bytes) {
  return find(Call{handle, x_shape, x, w_shape, w, y_shape, y, convolution, workspace, workspace_bytes}, y,
              y_shape->bytes(), wanted, found, results);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_shape,
                                      const void* x, cudnnFilterDescriptor_t w_shape, const void* w,
                                      cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, std::size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_shape, void* y) {
  if (*static_cast<const float*>(beta) != 0) return refused("a sum that is not emulated");
  const Call call{handle, x_shape, x, w_shape, w, y_shape, y, convolution, workspace, workspace_bytes};
  return run(call, algorithm, alpha, beta,
             [x, w, y](const ConvShape& shape, const Tensor& of_x, const Tensor& of_w, const Tensor& of_y, bool) {
               std::vector<float> packed(static_cast<std::size_t>(lockring::kernels::cpu::conv2d_packed_floats(shape)));
               lockring::kernels::cpu::conv2d_pack(shape, Reading(w, of_w.count(), of_w.bf16).data(), packed.data());
               lockring::kernels::cpu::conv2d_forward(shape, Reading(x, of_x.count(), of_x.bf16).data(), nullptr,
                                                      packed.data(), nullptr, lockring::Activation::none,
                                                      Writing(y, of_y.count(), of_y.bf16).data());
             });
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, cudnnFilterDescriptor_t w_shape,
                                                          const void* w, cudnnTensorDescriptor_t dy_shape,
                                                          const void* dy, cudnnConvolutionDescriptor_t convolution,
                                                          cudnnTensorDescriptor_t dx_shape, void* dx, int wanted,
                                                          int* found, cudnnConvolutionBwdDataAlgoPerf_t* results,
                                                          void* workspace, std::size_t workspace_bytes) {
  return find(Call{handle, dx_shape, dx, w_shape, w, dy_shape, dy, convolution, workspace, workspace_bytes}, dx,
              dx_shape->bytes(), wanted, found, results);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w_shape,
                                           const void* w, cudnnTensorDescriptor_t dy_shape, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           std::size_t workspace_bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_shape, void* dx) {
  if (*static_cast<const float*>(beta) != 0) return refused("a sum that is not emulated");
  const Call call{handle, dx_shape, dx, w_shape, w, dy_shape, dy, convolution, workspace, workspace_bytes};
  return run(call, algorithm, alpha, beta,
             [dy, w, dx](const ConvShape& shape, const Tensor& of_x, const Tensor& of_w, const Tensor& of_y, bool) {
               lockring::kernels::cpu::conv2d_input_gradient(shape, Reading(dy, of_y.count(), of_y.bf16).data(),
                                                             Reading(w, of_w.count(), of_w.bf16).data(),
                                                             Writing(dx, of_x.count(), of_x.bf16).data());
             });
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t x_shape,
                                                            const void* x, cudnnTensorDescriptor_t dy_shape,
                                                            const void* dy, cudnnConvolutionDescriptor_t convolution,
                                                            cudnnFilterDescriptor_t dw_shape, void* dw, int wanted,
                                                            int* found, cudnnConvolutionBwdFilterAlgoPerf_t* results,
                                                            void* workspace, std::size_t workspace_bytes) {
  return find(Call{handle, x_shape, x, dw_shape, dw, dy_shape, dy, convolution, workspace, workspace_bytes}, dw,
              dw_shape->bytes(), wanted, found, results);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_shape,
                                             const void* x, cudnnTensorDescriptor_t dy_shape, const void* dy,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             std::size_t workspace_bytes, const void* beta,
                                             cudnnFilterDescriptor_t dw_shape, void* dw) {
  const Call call{handle, x_shape, x, dw_shape, dw, dy_shape, dy, convolution, workspace, workspace_bytes};
  return run(
      call, algorithm, alpha, beta,
      [x, dy, dw](const ConvShape& shape, const Tensor& of_x, const Tensor& of_w, const Tensor& of_y, bool accumulate) {
        lockring::kernels::cpu::conv2d_weight_gradient(shape, Reading(x, of_x.count(), of_x.bf16).data(),
                                                       Reading(dy, of_y.count(), of_y.bf16).data(), accumulate,
                                                       Writing(dw, of_w.count(), of_w.bf16).data());
      });
}
