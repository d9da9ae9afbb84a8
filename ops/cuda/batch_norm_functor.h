// Batch normalisation of one group, one index an element or a channel.
#pragma once

#include "core/cuda/host_device.h"
#include "ops/batch_norm_kernel.h"

#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

// What sums of a channel end as: its mean, or with squares about the mean its variance.
struct StoreMean {
  float* mean;
  double values;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t channel, double sum) const {
    mean[channel] = values > 0 ? static_cast<float>(sum / values) : 0.0F;
  }
};

struct SquareAboutMean {
  const float *x, *mean;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    const double difference = double{x[row * channels + channel]} - mean[channel];
    return difference * difference;
  }
};

// The normalised value before the activation, and what it is made of.
struct Normalised {
  BatchNormTerms terms;
  LOCKRING_HOST_DEVICE float inverse(std::int64_t channel) const {
    return 1.0F / sqrtf(terms.variance[channel] + terms.epsilon);
  }
  LOCKRING_HOST_DEVICE float centred(float x, std::int64_t channel) const { return x - terms.mean[channel]; }
  LOCKRING_HOST_DEVICE float z(float x, std::int64_t channel) const {
    return fmaf(centred(x, channel), terms.gamma[channel] * inverse(channel), terms.beta[channel]);
  }
  LOCKRING_HOST_DEVICE bool cuts(float z) const { return terms.activation == Activation::relu && z <= 0; }
};

struct BatchNormApply {
  Normalised normalised;
  const float* x;
  std::int64_t channels;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float z = normalised.z(x[i], i % channels);
    y[i] = normalised.cuts(z) ? 0.0F : z;  // NaN passes
  }
};

// The gradient that reaches z, and its product with the centred value: what dbeta and dgamma are sums of.
struct GradientOfZ {
  Normalised normalised;
  const float *x, *dy;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE float at(std::int64_t i) const {
    return normalised.cuts(normalised.z(x[i], i % channels)) ? 0.0F : dy[i];
  }
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    return at(row * channels + channel);
  }
};

struct CentredGradient {
  GradientOfZ gradient;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    const std::int64_t i = row * gradient.channels + channel;
    return double{gradient.at(i)} * gradient.normalised.centred(gradient.x[i], channel);
  }
};

struct StoreGammaGradient {
  Normalised normalised;
  float* dgamma;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t channel, double sum) const {
    dgamma[channel] = static_cast<float>(sum * normalised.inverse(channel));
  }
};

// dx = scale (dz - dbeta / rows - (x - mean) inverse dgamma / rows); without dgamma the moments are constants.
struct BatchNormInputGradient {
  GradientOfZ gradient;
  std::int64_t rows;
  const float *dgamma, *dbeta;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t channel = i % gradient.channels;
    const float inverse = gradient.normalised.inverse(channel);
    const float scale = gradient.normalised.terms.gamma[channel] * inverse;
    float value = gradient.at(i);
    if (dgamma != nullptr) {
      const float centred = gradient.normalised.centred(gradient.x[i], channel);
      value -= fmaf(centred * inverse, dgamma[channel], dbeta[channel]) / static_cast<float>(rows);
    }
    dx[i] = scale * value;
  }
};

struct AddScaled {
  const float* values;
  float factor;
  bool accumulate;
  float* sums;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    sums[i] = accumulate ? fmaf(factor, values[i], sums[i]) : factor * values[i];
  }
};

}  // namespace lockring::kernels::cuda
