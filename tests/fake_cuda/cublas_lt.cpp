#include <cublasLt.h>

#include "ops/cpu/gemm.h"
#include "ops/transpose_kernel.h"
#include "tests/fake_cuda/bf16_values.h"
#include "tests/fake_cuda/machine.h"

#include <algorithm>
#include <cstring>
#include <vector>

struct cublasLtContext {
  int device;
};

struct FakeProduct {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t transpose_a = CUBLAS_OP_N;
  cublasOperation_t transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

// Columns of `rows` values, `stride` apart.
struct FakeLayout {
  std::int64_t rows, columns, stride;
  bool bf16;
  std::size_t count() const { return static_cast<std::size_t>((columns - 1) * stride + rows); }
  std::size_t bytes() const { return count() * element(); }
  std::size_t element() const { return bf16 ? 2 : 4; }
};

struct FakePreference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // of A to D, as in the original
};

using namespace fake_cuda;

namespace {

cublasStatus_t refused(const std::string& what) {
  misuse(cudaErrorInvalidValue, what);
  cudaGetLastError();  // it is no error of CUDA's
  return CUBLAS_STATUS_INVALID_VALUE;
}

template <class T>
cublasStatus_t set(T& member, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return refused("an attribute of another size");
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

constexpr std::uint64_t kWorkspace = 1000;  // bytes that every algorithm here asks for

// What an algorithm was chosen for. It must not be used for anything else.
struct Choice {
  std::uint64_t shape;
  std::uint32_t alignment[4];
};

std::uint64_t shape_hash(const FakeProduct& p, std::initializer_list<const FakeLayout*> layouts) {
  std::uint64_t hash = p.transpose_a + 2 * p.transpose_b + 4 * p.epilogue + 64 * p.compute;
  for (const FakeLayout* layout : layouts)
    for (const std::int64_t size : {layout->rows, layout->columns, layout->stride, std::int64_t{layout->bf16}})
      hash = hash * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(size);
  return hash;
}

bool fits(const FakeProduct& p, const FakeLayout& a, const FakeLayout& b, const FakeLayout& d) {
  const bool ta = p.transpose_a == CUBLAS_OP_T;
  const bool tb = p.transpose_b == CUBLAS_OP_T;
  return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows);
}

// Of what the original computes: float32 throughout, or bfloat16 with a result of either type.
bool types_fit(const FakeProduct& p, const FakeLayout& a, const FakeLayout& b, const FakeLayout& c,
               const FakeLayout& d) {
  if (a.bf16 != b.bf16 || c.bf16 != d.bf16) return false;
  return a.bf16 ? p.compute == CUBLAS_COMPUTE_32F : !d.bf16;
}

bool has_bias(const FakeProduct& p) { return (p.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }

// D = op(A) op(B): by rows, D' = op(B)' op(A)'.
void multiply(const FakeProduct& p, const float* bias, const float* a, const FakeLayout& la, const float* b,
              const FakeLayout& lb, bool accumulate, float* d, const FakeLayout& ld) {
  const std::int64_t inner = p.transpose_a == CUBLAS_OP_T ? la.rows : la.columns;
  std::vector<float> turned;
  std::int64_t right_stride = la.stride;
  if (p.transpose_a == CUBLAS_OP_T) {
    turned.resize(static_cast<std::size_t>(la.stride * la.columns));
    lockring::kTranspose.on()(a, la.columns, la.stride, turned.data());
    a = turned.data();
    right_stride = la.columns;
  }
  lockring::kernels::cpu::gemm({.rows = ld.columns,
                                .cols = ld.rows,
                                .inner = inner,
                                .left_stride = lb.stride,
                                .right_stride = right_stride,
                                .out_stride = ld.stride,
                                .left_transposed = p.transpose_b == CUBLAS_OP_T,
                                .accumulate = accumulate},
                               b, a, d);
  for (std::int64_t column = 0; column < ld.columns; ++column)
    for (std::int64_t row = 0; row < ld.rows; ++row) {
      float& value = d[column * ld.stride + row];
      if (has_bias(p)) value += bias[row];
      if ((p.epilogue & CUBLASLT_EPILOGUE_RELU) != 0 && value < 0) value = 0;
    }
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t) { return cudaGetErrorString(cudaErrorInvalidValue); }
std::size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext{current_device()};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute, cudaDataType_t) {
  *product = new FakeProduct{.compute = compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(product->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(product->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(product->bias, value, bytes);
  }
  return refused("an attribute that is not emulated");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t stride) {
  if (rows == 0 || columns == 0 || stride < static_cast<std::int64_t>(rows))
    return refused("a layout of no elements, or of columns that overlap");
  *layout =
      new FakeLayout{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride, type == CUDA_R_16BF};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new FakePreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return set(preference->workspace, value, bytes);
  return set(preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!fits(*product, *a, *b, *d)) return refused("matrices whose sizes do not fit");
  if (!types_fit(*product, *a, *b, *c, *d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (wanted < 1 || preference->workspace < kWorkspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (refusal() == Refusal::algorithms) return CUBLAS_STATUS_SUCCESS;  // the original finds none, too
  Choice choice{shape_hash(*product, {a, b, c, d}), {}};
  std::ranges::copy(preference->alignment, choice.alignment);
  results[0] = {};
  std::memcpy(&results[0].algo, &choice, sizeof(choice));
  results[0].workspaceSize = kWorkspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (refusal() == Refusal::calls) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (cudaPeekAtLastError() != cudaSuccess) return refused("an error that nobody has taken");
  if (handle->device != current_device()) return refused("a handle of another device than the current one");
  Choice choice;
  std::memcpy(&choice, algorithm, sizeof(choice));
  if (choice.shape != shape_hash(*product, {a_layout, b_layout, c_layout, d_layout}))
    return refused("an algorithm that was chosen for another product");
  const void* pointers[] = {a, b, c, d};
  const FakeLayout* layouts[] = {a_layout, b_layout, c_layout, d_layout};
  for (int i = 0; i < 4; ++i) {
    if (!on_device(pointers[i], layouts[i]->bytes(), current_device())) return refused("a matrix beyond its block");
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % choice.alignment[i] != 0)
      return refused("a matrix that is less aligned than was promised");
  }
  if (has_bias(*product) &&
      !on_device(product->bias, static_cast<std::size_t>(d_layout->rows) * d_layout->element(), current_device()))
    return refused("a bias beyond its block");
  if (workspace_bytes < kWorkspace || !on_device(workspace, workspace_bytes, current_device()) ||
      reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
    return refused("a workspace that is too small or misaligned");
  const float scale = *static_cast<const float*>(alpha);
  const float keep = *static_cast<const float*>(beta);
  if (scale != 1 || (keep != 0 && keep != 1) || c != d || (keep == 1 && d_layout->bf16))
    return refused("what is not emulated");
  const cudaError_t error = enqueue(stream, [=, p = *product, la = *a_layout, lb = *b_layout, ld = *d_layout] {
    std::memset(workspace, 0xFF, kWorkspace);
    const Reading bias(p.bias, has_bias(p) ? static_cast<std::size_t>(ld.rows) : 0, ld.bf16);
    multiply(p, bias.data(), Reading(a, la.count(), la.bf16).data(), la, Reading(b, lb.count(), lb.bf16).data(), lb,
             keep == 1, Writing(d, ld.count(), ld.bf16).data(), ld);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
