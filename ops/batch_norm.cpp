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
constexpr Kernel<AddGroupsFn> kAddGroups{"batch_norm", LOCKRING_SIMD_KERNELS(add_groups),
                                         LOCKRING_CUDA_KERNEL(kernels::cuda::add_groups)};

BatchNormShape checked_shape(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                             const BatchNormOptions& options) {
  check(x.rank() >= 2 && x.size(-1) > 0, "batch_norm: x is [n, ..., channels], not {}", x.shape());
  const Shape channels{x.size(-1)};
  check(gamma.shape() == channels && beta.shape() == channels, "batch_norm: gamma {} and beta {} do not fit x {}",
        gamma.shape(), beta.shape(), x.shape());
  check(options.group > 0, "batch_norm: the group {} is not positive", options.group);
  check(options.epsilon > 0, "batch_norm: epsilon {} is not positive", options.epsilon);
  BatchNormShape shape{.images = x.size(0), .pixels = 1, .channels = x.size(-1), .group = options.group};
  for (int i = 1; i + 1 < x.rank(); ++i) shape.pixels *= x.size(i);
  return shape;
}

// All images as one group.
BatchNormShape as_one_group(BatchNormShape shape) {
  shape.group = std::max<std::int64_t>(shape.images, 1);
  return shape;
}

// Calls f(shape, group, offset) for what kernels take at once, which begins with a group and an element: a CPU's one
// group, so that it stays in the cache from kernel to kernel, a GPU's all of them.
template <class F>
void for_each_part(const BatchNormShape& all, Device device, F f) {
  if (device.kind != DeviceKind::cpu) return f(all, std::int64_t{0}, std::int64_t{0});
  for (std::int64_t g = 0; g < all.groups(); ++g) {
    BatchNormShape part = all;
    part.images = all.images_of(g);
    f(as_one_group(part), g, g * all.group * all.pixels * all.channels);
  }
}

double unbiased(double values) { return values > 1 ? values / (values - 1) : 1; }

// `values` is how many of a channel the moments are of; 0: those that the shape says.
void add_moments(const BatchNormShape& shape, double values, const float* mean, const float* variance,
                 const MomentSums& sums, Device device) {
  const std::int64_t groups = shape.groups();
  const auto add = [&](const float* from, GradSlot slot, auto factor) {
    if (slot.grad.defined())
      kAddGroups.on(device)(from, groups, shape.channels, factor(shape.images_of(0)),
                            factor(shape.images_of(groups - 1)), slot.accumulate, slot.grad.data());
  };
  add(mean, sums.mean, [](std::int64_t images) { return static_cast<float>(images); });
  add(variance, sums.variance, [&](std::int64_t images) {
    const double of = values > 0 ? values : static_cast<double>(images * shape.pixels);
    return static_cast<float>(static_cast<float>(images) * unbiased(of));
  });
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

// Adds the sums of groups, dgamma [groups][channels] before dbeta, to the gradients that are wanted.
void add_parameter_gradients(const float* sums, std::int64_t groups, std::int64_t channels, Device device,
                             GradTargets to) {
  for (int i : {1, 2}) {
    if (!to[i].wanted()) continue;
    auto [gradient, accumulate] = to[i].slot();
    kAddGroups.on(device)(sums + (i - 1) * groups * channels, groups, channels, 1, 1, accumulate, gradient.data());
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
  const Device device = x.device();
  Tensor y = Tensor::empty(x.shape(), x.dtype(), device);
  Tensor mean = Tensor::empty({shape.groups(), shape.channels}, DType::f32, device);
  Tensor variance = Tensor::empty(mean.shape(), DType::f32, device);
  const Saved saved{x.detach(), gamma.detach(), beta.detach(), mean, variance, options};
  for_each_part(shape, device, [&](const BatchNormShape& part, std::int64_t g, std::int64_t at) {
    const ConstReals values = x.reals().from(at);
    kMoments.on(device)(part, values, mean.data() + g * shape.channels, variance.data() + g * shape.channels);
    kApply.on(device)(part, values, saved.terms(g), y.reals().from(at));
  });
  add_moments(shape, 0, mean.data(), variance.data(), sums, device);

  if (needs_gradient(x, gamma, beta)) {
    record(y, {&x, &gamma, &beta}, [shape, saved](const Tensor& dy, GradTargets to) {
      const Device device = dy.device();
      Tensor group_sums = Tensor::empty({2, shape.groups(), shape.channels}, DType::f32, device);
      Tensor dx;
      if (to[0].wanted()) dx = Tensor::empty(dy.shape(), dy.dtype(), device);
      for_each_part(shape, device, [&](const BatchNormShape& part, std::int64_t g, std::int64_t at) {
        const ConstReals x_part = saved.x.reals().from(at);
        const ConstReals dy_part = dy.reals().from(at);
        float* dgamma = group_sums.data() + g * shape.channels;
        float* dbeta = dgamma + shape.groups() * shape.channels;
        kSums.on(device)(part, x_part, dy_part, saved.terms(g), dgamma, dbeta);
        if (dx.defined())
          kInputGradient.on(device)(part, x_part, dy_part, saved.terms(g), dgamma, dbeta, dx.reals().from(at));
      });
      add_parameter_gradients(group_sums.data(), shape.groups(), shape.channels, device, to);
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
  const BatchNormShape shape = as_one_group(checked_shape(x, gamma, beta, options));
  const Device device = x.device();
  Tensor y = Tensor::empty(x.shape(), x.dtype(), device);
  Tensor mean = Tensor::empty({shape.channels}, DType::f32, device);
  Tensor variance = Tensor::empty({shape.channels}, DType::f32, device);
  const Saved saved{x.detach(), gamma.detach(), beta.detach(), mean, variance, options};
  kMoments.on(device)(shape, x.reals(), mean.data(), variance.data());
  const double values = merge_moments(shape, group, mean, variance);
  kApply.on(device)(shape, x.reals(), saved.terms(), y.reals());
  add_moments(shape, values, mean.data(), variance.data(), sums, device);

  if (needs_gradient(x, gamma, beta)) {
    const double share = static_cast<double>(shape.images * shape.pixels) / values;
    record(y, {&x, &gamma, &beta}, [shape, saved, share, group = &group](const Tensor& dy, GradTargets to) {
      Tensor part = Tensor::empty({2, shape.channels}, DType::f32, dy.device());
      float* dgamma = part.data();
      float* dbeta = dgamma + shape.channels;
      kSums.on(dy.device())(shape, saved.x.reals(), dy.reals(), saved.terms(), dgamma, dbeta);
      add_parameter_gradients(dgamma, 1, shape.channels, dy.device(), to);
      if (!to[0].wanted()) return;
      merge_sums(share, *group, part);
      Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
      kInputGradient.on(dy.device())(shape, saved.x.reals(), dy.reals(), saved.terms(), dgamma, dbeta, dx.reals());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

Tensor batch_norm_eval(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                       const Tensor& variance, const BatchNormOptions& options) {
  const BatchNormShape shape = as_one_group(checked_shape(x, gamma, beta, options));
  check(mean.shape() == gamma.shape() && variance.shape() == gamma.shape(),
        "batch_norm: mean {} and variance {} do not fit x {}", mean.shape(), variance.shape(), x.shape());
  Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  const Saved saved{x.detach(), gamma.detach(), beta.detach(), mean.detach(), variance.detach(), options};
  kApply.on(x.device())(shape, x.reals(), saved.terms(), y.reals());

  if (needs_gradient(x, gamma, beta)) {
    record(y, {&x, &gamma, &beta}, [shape, saved](const Tensor& dy, GradTargets to) {
      if (to[1].wanted() || to[2].wanted()) {
        Tensor sums = Tensor::empty({2, shape.channels}, DType::f32, dy.device());
        kSums.on(dy.device())(shape, saved.x.reals(), dy.reals(), saved.terms(), sums.data(),
                              sums.data() + shape.channels);
        add_parameter_gradients(sums.data(), 1, shape.channels, dy.device(), to);
      }
      if (to[0].wanted()) {
        Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
        kInputGradient.on(dy.device())(shape, saved.x.reals(), dy.reals(), saved.terms(), nullptr, nullptr, dx.reals());
        to[0].add(std::move(dx));
      }
    });
  }
  return y;
}

}  // namespace lockring::ops
