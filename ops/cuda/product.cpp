#include "ops/cuda/product.h"

#include "core/cuda/allocator.h"
#include "core/cuda/stream.h"
#include "core/error.h"
#include "core/notes.h"
#include "ops/cuda/direct.h"
#include "ops/cuda/handles.h"
#include "ops/cuda/operand.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::check_call;

constexpr std::int64_t kWorkspace = std::int64_t{32} << 20;  // NVIDIA's advice for Hopper; less elsewhere

// The largest power of two, up to 256, that divides an address.
std::uint32_t alignment_of(const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block) | 256;
  return static_cast<std::uint32_t>(address & -address);
}

cudaDataType_t data_type(DType dtype) { return dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

cublasLtEpilogue_t epilogue_of(bool has_bias, Activation activation) {
  if (activation == Activation::relu) return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

struct ProductPlan {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  bool refused = false;  // cuBLASLt has no algorithm

  ProductPlan(const ProductShape& shape, cublasLtEpilogue_t epilogue, DType from, DType to);
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    LOCKRING_CHECK_CUDA(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)));
  }
  void choose(const std::array<std::uint32_t, 3>& alignments);
};

ProductPlan::ProductPlan(const ProductShape& s, cublasLtEpilogue_t epilogue, DType from, DType to) {
  const auto layout = [](cublasLtMatrixLayout_t* made, DType dtype, bool transposed, std::int64_t rows,
                         std::int64_t columns) {
    if (transposed) std::swap(rows, columns);
    LOCKRING_CHECK_CUDA(cublasLtMatrixLayoutCreate(made, data_type(dtype), static_cast<std::uint64_t>(rows),
                                                   static_cast<std::uint64_t>(columns), rows));
  };
  const bool tf32 = from == DType::f32 && lockring::cuda::uses_tf32();
  const cublasComputeType_t compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  LOCKRING_CHECK_CUDA(cublasLtMatmulDescCreate(&product, compute, CUDA_R_32F));
  layout(&a, from, s.transpose_a, s.m, s.k);
  layout(&b, from, s.transpose_b, s.k, s.n);
  layout(&d, to, false, s.m, s.n);
  set(CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
}

ProductPlan::~ProductPlan() {
  cublasLtMatrixLayoutDestroy(a);
  cublasLtMatrixLayoutDestroy(b);
  cublasLtMatrixLayoutDestroy(d);
  cublasLtMatmulDescDestroy(product);
}

void ProductPlan::choose(const std::array<std::uint32_t, 3>& alignments) {
  cublasLtMatmulPreference_t preference = nullptr;
  LOCKRING_CHECK_CUDA(cublasLtMatmulPreferenceCreate(&preference));
  const std::unique_ptr<void, void (*)(void*)> owner(
      preference, [](void* made) { cublasLtMatmulPreferenceDestroy(static_cast<cublasLtMatmulPreference_t>(made)); });
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    LOCKRING_CHECK_CUDA(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kWorkspace));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[0]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[1]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  LOCKRING_CHECK_CUDA(cublasLtMatmulAlgoGetHeuristic(lockring::cuda::cublas_handle(), product, a, b, d, d, preference,
                                                     1, &found, &count));
  check(count > 0 && found.state == CUBLAS_STATUS_SUCCESS, ErrorCode::device, "cuBLASLt has no algorithm for it");
  algorithm = found.algo;
}

// Tells people how else it is computed.
void say_refused(const ProductShape& s, DType dtype, const std::string& why) {
  if (dtype == DType::f32) return say_direct(s, why);
  say_once(fmt::format("{} x {} x {} are multiplied in float32, not bfloat16: {}", s.m, s.k, s.n, why));
}

using Key = std::array<std::int64_t, 13>;

// A plan is a thread's own, since the bias is a part of its description.
ProductPlan& plan_of(const ProductShape& s, ConstReals a, ConstReals b, const void* bias, ConstReals d) {
  thread_local std::map<Key, std::unique_ptr<ProductPlan>> plans;
  const bool has_bias = bias != nullptr;
  // There is no preference for the bias alone, which is read as D is written.
  const std::array<std::uint32_t, 3> alignments{alignment_of(a.data), alignment_of(b.data),
                                                std::min(alignment_of(d.data), alignment_of(bias))};
  const cublasLtEpilogue_t epilogue = epilogue_of(has_bias, s.activation);
  const Key key{lockring::cuda::current_gpu(),
                s.m,
                s.n,
                s.k,
                s.transpose_a,
                s.transpose_b,
                epilogue,
                static_cast<std::int64_t>(a.dtype),
                static_cast<std::int64_t>(d.dtype),
                alignments[0],
                alignments[1],
                alignments[2],
                alignment_of(bias)};
  std::unique_ptr<ProductPlan>& plan = plans[key];
  if (plan != nullptr) {
    if (has_bias) plan->set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    return *plan;
  }
  auto made = std::make_unique<ProductPlan>(s, epilogue, a.dtype, d.dtype);
  try {
    if (has_bias) made->set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    made->choose(alignments);
  } catch (const Error& error) {
    say_refused(s, a.dtype, error.what());
    made->refused = true;
  }
  plan = std::move(made);
  return *plan;
}

// What cuBLASLt does not do with bfloat16 it may do with float32; our own kernel does the rest. Only what accumulates
// reads its result, which then is of float32 and in place.
void product_in_float32(const ProductShape& s, ConstReals a, ConstReals b, const void* bias, Reals d) {
  const Operand left(a, s.m * s.k, DType::f32);
  const Operand right(b, s.k * s.n, DType::f32);
  const Operand shift({bias, d.dtype}, bias == nullptr ? 0 : s.m, bias == nullptr ? d.dtype : DType::f32);
  const Result result(d, s.m * s.n, DType::f32);
  const auto floats = [](const void* values) { return static_cast<const float*>(values); };
  auto* to = static_cast<float*>(result.data());
  if (a.dtype == DType::bf16) {
    product(s, floats(left.data()), floats(right.data()), shift.data(), to);
  } else {
    direct_product(s, floats(left.data()), floats(right.data()), floats(shift.data()), to);
  }
  result.deliver();
}

}  // namespace

void product(const ProductShape& s, ConstReals a, ConstReals b, const void* bias, Reals d) {
  const ProductPlan& plan = plan_of(s, a, b, bias, d);
  if (plan.refused) return product_in_float32(s, a, b, bias, d);
  const lockring::cuda::Scratch workspace(kWorkspace);
  const float one = 1;
  const float keep = s.accumulate ? 1 : 0;
  const cublasStatus_t status =
      cublasLtMatmul(lockring::cuda::cublas_handle(), plan.product, &one, a.data, plan.a, b.data, plan.b, &keep, d.data,
                     plan.d, d.data, plan.d, &plan.algorithm, workspace.data(), static_cast<std::size_t>(kWorkspace),
                     lockring::cuda::current_stream());
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  cudaGetLastError();
  say_refused(s, a.dtype, std::string("cuBLASLt does not: ") + cublasLtGetStatusString(status));
  product_in_float32(s, a, b, bias, d);
}

}  // namespace lockring::kernels::cuda
