// Batch normalisation, one index an element or a channel of a group.
#pragma once

#include "core/cuda/map.h"
#include "ops/batch_norm_kernel.h"
#include "ops/cuda/sums_functor.h"

#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

using lockring::cuda::RowColumn;
using lockring::cuda::to_float;

// A value and its square. In double precision both are exact, and so, to a float's last bit, is what they cancel to.
template <class T>
struct Moments {
  const T* x;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE Sums<2> operator()(std::int64_t row, std::int64_t channel) const {
    const double value = to_float(x[row * channels + channel]);
    return {{value, value * value}};
  }
};

struct StoreMoments {
  RowGroups groups;
  std::int64_t channels;
  float *mean, *variance;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t group, std::int64_t channel, const Sums<2>& sums) const {
    const auto values = static_cast<double>(groups.end(group) - groups.begin(group));
    const double average = values > 0 ? sums.of[0] / values : 0;
    const double squares = values > 0 ? sums.of[1] / values - average * average : 0;
    const std::int64_t i = group * channels + channel;
    mean[i] = static_cast<float>(average);
    variance[i] = static_cast<float>(squares < 0 ? 0 : squares);  // NaN passes
  }
};

// The normalised value before the activation, and what it is made of. `i` is the channel's place in the moments.
struct Normalised {
  BatchNormTerms terms;
  RowGroups groups;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE std::int64_t place(std::int64_t row, std::int64_t channel) const {
    return groups.of_row(row) * channels + channel;
  }
  LOCKRING_HOST_DEVICE float inverse(std::int64_t i) const { return 1.0F / sqrtf(terms.variance[i] + terms.epsilon); }
  LOCKRING_HOST_DEVICE float centred(float x, std::int64_t i) const { return x - terms.mean[i]; }
  LOCKRING_HOST_DEVICE float z(float x, std::int64_t i, std::int64_t channel) const {
    return fmaf(centred(x, i), terms.gamma[channel] * inverse(i), terms.beta[channel]);
  }
  LOCKRING_HOST_DEVICE bool cuts(float z) const { return terms.activation == Activation::relu && z <= 0; }
};

struct BatchNormApply {
  Normalised normalised;
  LOCKRING_HOST_DEVICE float operator()(RowColumn at, float x) const {
    const float z = normalised.z(x, normalised.place(at.row, at.column), at.column);
    return normalised.cuts(z) ? 0.0F : z;  // NaN passes
  }
};

// The gradient that reaches z, with the centred value: what dbeta and dgamma are sums of.
template <class T>
struct ParameterGradients {
  Normalised normalised;
  const T *x, *dy;
  LOCKRING_HOST_DEVICE Sums<2> operator()(std::int64_t row, std::int64_t channel, std::int64_t group) const {
    const std::int64_t at = row * normalised.channels + channel;
    const std::int64_t i = group * normalised.channels + channel;
    const float value = to_float(x[at]);
    const double dz = normalised.cuts(normalised.z(value, i, channel)) ? 0.0F : to_float(dy[at]);
    return {{dz * normalised.centred(value, i), dz}};
  }
};

struct StoreParameterGradients {
  Normalised normalised;
  float *dgamma, *dbeta;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t group, std::int64_t channel, const Sums<2>& sums) const {
    const std::int64_t i = group * normalised.channels + channel;
    dgamma[i] = static_cast<float>(sums.of[0] * normalised.inverse(i));
    dbeta[i] = static_cast<float>(sums.of[1]);
  }
};

// dx = scale (dz - dbeta / rows - (x - mean) inverse dgamma / rows); without dgamma the moments are constants.
struct BatchNormInputGradient {
  Normalised normalised;
  const float *dgamma, *dbeta;
  LOCKRING_HOST_DEVICE float operator()(RowColumn at, float x, float dy) const {
    const std::int64_t i = normalised.place(at.row, at.column);
    const float inverse = normalised.inverse(i);
    const float scale = normalised.terms.gamma[at.column] * inverse;
    float value = normalised.cuts(normalised.z(x, i, at.column)) ? 0.0F : dy;
    if (dgamma != nullptr) {
      const std::int64_t group = i / normalised.channels;
      const auto rows = static_cast<float>(normalised.groups.end(group) - normalised.groups.begin(group));
      value -= fmaf(normalised.centred(x, i) * inverse, dgamma[i], dbeta[i]) / rows;
    }
    return scale * value;
  }
};

// One index a channel.
struct AddGroups {
  const float* values;
  std::int64_t groups, channels;
  float factor, last_factor;
  bool accumulate;
  float* sums;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t channel) const {
    float sum = accumulate ? sums[channel] : 0;
    for (std::int64_t g = 0; g < groups; ++g)
      sum = fmaf(g + 1 < groups ? factor : last_factor, values[g * channels + channel], sum);
    sums[channel] = sum;
  }
};

}  // namespace lockring::kernels::cuda
