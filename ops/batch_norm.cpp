#include "ops/batch_norm.h"

#include "ops/batch_norm_kernel.h"

#include <algorithm>
#include <span>
#include <vector>

namespace lockring::ops {
namespace {

constexpr Kernel<BatchNormMomentsFn> kMoments{"batch_norm", LOCKRING_SIMD_KERNELS(batch_norm_moments),
                                              LOCKRING_CUDA_KERNEL(kernels::cuda::batch_norm_moments)};
constexpr Kernel<BatchNormApplyFn> kApply{"batch_norm", LOCKRING_SIMD_KERNELS(batch_norm_apply),
                                          LOCKRING_CUDA_KERNEL(kernels::cuda::batch_norm_apply)};
constexpr Kernel<BatchNormSumsFn> kSums{"batch_norm", LOCKRING_SIMD_KERNELS(batch_norm_sums),
                                        LOCKRING_CUDA_KERNEL(kernels::cuda::batch_norm_sums)};
constexpr Kernel<BatchNormInputGradientFn> kInputGradient{
    "batch_norm", LOCKRING_SIMD_KERNELS(batch_norm_input_gradient),
    LOCKRING_CUDA_KERNEL(kernels::cuda::batch_norm_input_gradient)};
constexpr Kernel<AddScaledFn> kAddScaled{"batch_norm", LOCKRING_SIMD_KERNELS(add_scaled),
                                         LOCKRING_CUDA_KERNEL(kernels::cuda::add_scaled)};

BatchNormShape checked_shape(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                             const BatchNormOptions& options) {
  check(x.rank() >= 2 && x.size(-1) > 0, "batch_norm: x is [n, ..., channels], not {}", x.shape());
  const Shape channels{x.size(-1)};
  check(gamma.shape() == channels && beta.shape() == channels, "batch_norm: gamma {} and beta {} do not fit x {}",
        gamma.shape(), beta.shape(), x.shape());
  check(options.group > 0, "batch_norm: the group {} is not positive", options.group);
  check(options.epsilon > 0, "batch_norm: epsilon {} is not positive", options.epsilon);
  BatchNormShape shape{.images = x.size(0), .pixels = 1, .channels = x.size(-1)};
  for (int i = 1; i + 1 < x.rank(); ++i) shape.pixels *= x.size(i);
  return shape;
}

// The groups of a batch, each as a shape and where its values begin; an empty batch is one empty group.
class Groups {
 public:
  Groups(const BatchNormShape& shape, std::int64_t group)
      : shape_(shape), group_(group), count_(std::max<std::int64_t>(shape.images / group, 1)) {}

  std::int64_t count() const { return count_; }
  std::int64_t offset(std::int64_t g) const { return g * group_ * shape_.pixels * shape_.channels; }
  BatchNormShape operator[](std::int64_t g) const {
    BatchNormShape shape = shape_;
    shape.images = g + 1 < count_ ? group_ : shape_.images - g * group_;
    return shape;
  }

 private:
  BatchNormShape shape_;
  std::int64_t group_, count_;
};

// `values` is how many of a channel the moments are of.
void add_moments(const BatchNormShape& group, double values, const float* mean, const float* variance, bool first,
                 const MomentSums& sums, Device device) {
  const double unbiased = values > 1 ? values / (values - 1) : 1;
  const auto images = static_cast<float>(group.images);
  const auto add = [&](const float* from, float factor, GradSlot slot) {
    if (slot.grad.defined())
      kAddScaled.on(device)(from, group.channels, factor, slot.accumulate || !first, slot.grad.data());
  };
  add(mean, images, sums.mean);
  add(variance, static_cast<float>(images * unbiased), sums.variance);
}

// What a gradient needs again.
struct Saved {
  Tensor x, gamma, beta, mean, variance;
  BatchNormOptions options;

  BatchNormTerms terms(std::int64_t group = 0) const {
    const std::int64_t offset = group * gamma.size(0);
    return {.mean = mean.data() + offset,
            .variance = variance.data() + offset,
            .gamma = gamma.data(),
            .beta = beta.data(),
            .epsilon = options.epsilon,
            .activation = options.activation};
  }
};

// Adds the sums of one group, dgamma before dbeta, to the gradients that are wanted.
void add_parameter_gradients(const float* sums, std::int64_t channels, Device device, GradTargets to) {
  for (int i : {1, 2}) {
    if (!to[i].wanted()) continue;
    auto [gradient, accumulate] = to[i].slot();
    kAddScaled.on(device)(sums + (i - 1) * channels, channels, 1, accumulate, gradient.data());
  }
}

// Turns the moments of this part into those of the whole batch, and returns how many values they are of: first the
// means, then the squares about the common one, merged as Chan, Golub and LeVeque do.
double merge_moments(const BatchNormShape& part, GroupSum& group, Tensor& part_mean, Tensor& part_variance) {
  // The members meet on the CPU.
  Tensor host_mean = part_mean.to(Device{});
  Tensor host_variance = part_variance.to(Device{});
  float* mean = host_mean.data();
  float* variance = host_variance.data();
  const auto own = static_cast<double>(part.images * part.pixels);
  std::vector<double> terms(static_cast<std::size_t>(part.channels) + 1);
  for (std::int64_t c = 0; c < part.channels; ++c) terms[c] = own * mean[c];
  terms.back() = own;
  group.sum(terms);
  const double values = std::max(terms.back(), 1.0);
  std::vector<double> squares(static_cast<std::size_t>(part.channels));
  for (std::int64_t c = 0; c < part.channels; ++c) {
    const double distance = mean[c] - terms[c] / values;
    squares[c] = own * (variance[c] + distance * distance);
  }
  group.sum(squares);
  for (std::int64_t c = 0; c < part.channels; ++c) {
    mean[c] = static_cast<float>(terms[c] / values);
    variance[c] = static_cast<float>(squares[c] / values);
  }
  if (part_mean.device() != Device{}) {
    part_mean.copy_from(host_mean);
    part_variance.copy_from(host_variance);
  }
  return values;
}

// dgamma and dbeta of the whole batch, scaled so that this part's number of values divides them.
void merge_sums(double share, GroupSum& group, Tensor& part) {
  Tensor host = part.to(Device{});
  const std::span<float> sums = host.values();
  std::vector<double> terms(sums.begin(), sums.end());
  group.sum(terms);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(share * terms[i]);
  if (part.device() != Device{}) part.copy_from(host);
}

}  // namespace

Tensor batch_norm_train(const Tensor& x, const Tensor& gamma, const Tensor& beta, const BatchNormOptions& options,
                        const MomentSums& sums) {
  const BatchNormShape shape = checked_shape(x, gamma, beta, options);
  const Groups groups(shape, options.group);
  const Device device = x.device();
  Tensor y = Tensor::empty(x.shape(), DType::f32, device);
  Tensor mean = Tensor::empty({groups.count(), shape.channels}, DType::f32, device);
  Tensor variance = Tensor::empty(mean.shape(), DType::f32, device);
  const Saved saved{x.detach(), gamma.detach(), beta.detach(), mean, variance, options};
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    const float* values = x.data() + groups.offset(g);
    float* group_mean = mean.data() + g * shape.channels;
    float* group_variance = variance.data() + g * shape.channels;
    kMoments.on(device)(groups[g], values, group_mean, group_variance);
    kApply.on(device)(groups[g], values, saved.terms(g), y.data() + groups.offset(g));
    add_moments(groups[g], static_cast<double>(groups[g].images * groups[g].pixels), group_mean, group_variance, g == 0,
                sums, device);
  }

  if (needs_gradient(x, gamma, beta)) {
    record(y, {&x, &gamma, &beta}, [groups, saved](const Tensor& dy, GradTargets to) {
      const std::int64_t channels = saved.gamma.size(0);
      Tensor group_sums = Tensor::empty({2, channels}, DType::f32, dy.device());
      float* dgamma = group_sums.data();
      float* dbeta = dgamma + channels;
      Tensor dx;
      if (to[0].wanted()) dx = Tensor::empty(dy.shape(), DType::f32, dy.device());
      for (std::int64_t g = 0; g < groups.count(); ++g) {
        const std::int64_t at = groups.offset(g);
        kSums.on(dy.device())(groups[g], saved.x.data() + at, dy.data() + at, saved.terms(g), dgamma, dbeta);
        add_parameter_gradients(dgamma, channels, dy.device(), to);
        if (dx.defined())
          kInputGradient.on(dy.device())(groups[g], saved.x.data() + at, dy.data() + at, saved.terms(g), dgamma, dbeta,
                                         dx.data() + at);
      }
      if (dx.defined()) to[0].add(std::move(dx));
    });
  }
  return y;
}

namespace {

thread_local GroupSum* whole_batch = nullptr;

}  // namespace

WholeBatch::WholeBatch(GroupSum& group) { whole_batch = &group; }
WholeBatch::~WholeBatch() { whole_batch = nullptr; }
GroupSum* WholeBatch::current() { return whole_batch; }

Tensor batch_norm_together(const Tensor& x, const Tensor& gamma, const Tensor& beta, GroupSum& group,
                           const BatchNormOptions& options, const MomentSums& sums) {
  const BatchNormShape shape = checked_shape(x, gamma, beta, options);
  const Device device = x.device();
  Tensor y = Tensor::empty(x.shape(), DType::f32, device);
  Tensor mean = Tensor::empty({shape.channels}, DType::f32, device);
  Tensor variance = Tensor::empty({shape.channels}, DType::f32, device);
  const Saved saved{x.detach(), gamma.detach(), beta.detach(), mean, variance, options};
  kMoments.on(device)(shape, x.data(), mean.data(), variance.data());
  const double values = merge_moments(shape, group, mean, variance);
  kApply.on(device)(shape, x.data(), saved.terms(), y.data());
  add_moments(shape, values, mean.data(), variance.data(), true, sums, device);

  if (needs_gradient(x, gamma, beta)) {
    const double share = static_cast<double>(shape.images * shape.pixels) / values;
    record(y, {&x, &gamma, &beta}, [shape, saved, share, group = &group](const Tensor& dy, GradTargets to) {
      Tensor part = Tensor::empty({2, shape.channels}, DType::f32, dy.device());
      float* dgamma = part.data();
      float* dbeta = dgamma + shape.channels;
      kSums.on(dy.device())(shape, saved.x.data(), dy.data(), saved.terms(), dgamma, dbeta);
      add_parameter_gradients(dgamma, shape.channels, dy.device(), to);
      if (!to[0].wanted()) return;
      merge_sums(share, *group, part);
      Tensor dx = Tensor::empty(dy.shape(), DType::f32, dy.device());
      kInputGradient.on(dy.device())(shape, saved.x.data(), dy.data(), saved.terms(), dgamma, dbeta, dx.data());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

Tensor batch_norm_eval(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                       const Tensor& variance, const BatchNormOptions& options) {
  const BatchNormShape shape = checked_shape(x, gamma, beta, options);
  check(mean.shape() == gamma.shape() && variance.shape() == gamma.shape(),
        "batch_norm: mean {} and variance {} do not fit x {}", mean.shape(), variance.shape(), x.shape());
  Tensor y = Tensor::empty(x.shape(), DType::f32, x.device());
  const Saved saved{x.detach(), gamma.detach(), beta.detach(), mean.detach(), variance.detach(), options};
  kApply.on(x.device())(shape, x.data(), saved.terms(), y.data());

  if (needs_gradient(x, gamma, beta)) {
    record(y, {&x, &gamma, &beta}, [shape, saved](const Tensor& dy, GradTargets to) {
      if (to[1].wanted() || to[2].wanted()) {
        Tensor sums = Tensor::empty({2, shape.channels}, DType::f32, dy.device());
        kSums.on(dy.device())(shape, saved.x.data(), dy.data(), saved.terms(), sums.data(),
                              sums.data() + shape.channels);
        add_parameter_gradients(sums.data(), shape.channels, dy.device(), to);
      }
      if (to[0].wanted()) {
        Tensor dx = Tensor::empty(dy.shape(), DType::f32, dy.device());
        kInputGradient.on(dy.device())(shape, saved.x.data(), dy.data(), saved.terms(), nullptr, nullptr, dx.data());
        to[0].add(std::move(dx));
      }
    });
  }
  return y;
}

}  // namespace lockring::ops
