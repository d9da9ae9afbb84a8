#include "ops/batch_norm_kernel.h"

#include "ops/cpu/simd/vector.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// Channels at a time, so that their sums fit on the stack. Sums run over the pixels of an image in float and over the
// images in double.
constexpr std::int64_t kBlock = 64;

// Sums over pixels that are added up side by side, since each addition waits for the one before.
constexpr int kChains = 4;

LOCKRING_INLINE Vector total(const Vector* chains) { return (chains[0] + chains[1]) + (chains[2] + chains[3]); }

LOCKRING_INLINE std::int64_t block_size(std::int64_t channels, std::int64_t first) {
  return channels - first < kBlock ? channels - first : kBlock;
}

LOCKRING_INLINE float floor_of(Activation activation) {
  return activation == Activation::relu ? 0.0F : -__builtin_inff();
}

// The terms of a block of channels; 0 beyond its end.
struct BlockTerms {
  float mean[kBlock] = {};
  float inverse[kBlock] = {};  // 1 / sqrt(variance + epsilon)
  float scale[kBlock] = {};    // gamma * inverse
  float beta[kBlock] = {};
};

LOCKRING_INLINE void load_terms(const BatchNormTerms& terms, std::int64_t first, std::int64_t size, BlockTerms& block) {
  for (std::int64_t c = 0; c < size; ++c) {
    block.mean[c] = terms.mean[first + c];
    block.inverse[c] = 1.0F / __builtin_sqrtf(terms.variance[first + c] + terms.epsilon);
    block.scale[c] = terms.gamma[first + c] * block.inverse[c];
    block.beta[c] = terms.beta[first + c];
  }
}

// The sum of one image and its sum of squares about its own mean, for a block of channels.
LOCKRING_INLINE void image_moments(const float* x, std::int64_t pixels, std::int64_t channels, std::int64_t size,
                                   float* sums, float* squares) {
  for (std::int64_t c = 0; c < size; c += kLanes) {
    Vector sum[kChains] = {};
    for (std::int64_t i = 0; i < pixels; i += kChains)
#pragma GCC unroll 4
      for (int j = 0; j < kChains; ++j)
        if (i + j < pixels) sum[j] += load(x + (i + j) * channels + c, size - c);
    const Vector mean = total(sum) / static_cast<float>(pixels);
    Vector square[kChains] = {};
    for (std::int64_t i = 0; i < pixels; i += kChains)
#pragma GCC unroll 4
      for (int j = 0; j < kChains; ++j)
        if (i + j < pixels) {
          const Vector difference = load(x + (i + j) * channels + c, size - c) - mean;
          square[j] = fma(difference, difference, square[j]);
        }
    store(sums + c, total(sum));
    store(squares + c, total(square));
  }
}

}  // namespace

// Images are merged one by one (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
// sample variances", 1979), so each is read from memory once.
void batch_norm_moments(const BatchNormShape& shape, const float* x, float* mean, float* variance) {
  const auto pixels = static_cast<double>(shape.pixels);
  const std::int64_t images = shape.pixels == 0 ? 0 : shape.images;
  for (std::int64_t first = 0; first < shape.channels; first += kBlock) {
    const std::int64_t size = block_size(shape.channels, first);
    double means[kBlock] = {};
    double squares[kBlock] = {};
    for (std::int64_t image = 0; image < images; ++image) {
      float image_sums[kBlock] = {};
      float image_squares[kBlock] = {};
      image_moments(x + image * shape.pixels * shape.channels + first, shape.pixels, shape.channels, size, image_sums,
                    image_squares);
      const double share = 1 / static_cast<double>(image + 1);
      for (std::int64_t c = 0; c < kBlock; ++c) {
        const double difference = image_sums[c] / pixels - means[c];
        means[c] += difference * share;
        squares[c] += image_squares[c] + difference * difference * pixels * (1 - share);
      }
    }
    const double values = images > 0 ? pixels * static_cast<double>(images) : 1;
    for (std::int64_t c = 0; c < size; ++c) {
      mean[first + c] = static_cast<float>(means[c]);
      variance[first + c] = static_cast<float>(squares[c] / values);
    }
  }
}

void batch_norm_apply(const BatchNormShape& shape, const float* x, const BatchNormTerms& terms, float* y) {
  const float floor = floor_of(terms.activation);
  for (std::int64_t first = 0; first < shape.channels; first += kBlock) {
    const std::int64_t size = block_size(shape.channels, first);
    BlockTerms block;
    load_terms(terms, first, size, block);
    for (std::int64_t row = 0; row < shape.images * shape.pixels; ++row) {
      const std::int64_t at = row * shape.channels + first;
      for (std::int64_t c = 0; c < size; c += kLanes) {
        const Vector centred = load(x + at + c, size - c) - load(block.mean + c);
        const Vector z = fma(centred, load(block.scale + c), load(block.beta + c));
        store(y + at + c, z < floor ? Vector{} + floor : z, size - c);
      }
    }
  }
}

void batch_norm_sums(const BatchNormShape& shape, const float* x, const float* dy, const BatchNormTerms& terms,
                     float* dgamma, float* dbeta) {
  const float floor = floor_of(terms.activation);
  for (std::int64_t first = 0; first < shape.channels; first += kBlock) {
    const std::int64_t size = block_size(shape.channels, first);
    BlockTerms block;
    load_terms(terms, first, size, block);
    double products[kBlock] = {};
    double sums[kBlock] = {};
    for (std::int64_t image = 0; image < shape.images; ++image) {
      float image_products[kBlock] = {};
      float image_sums[kBlock] = {};
      for (std::int64_t c = 0; c < size; c += kLanes) {
        const Vector mean = load(block.mean + c), scale = load(block.scale + c), beta = load(block.beta + c);
        Vector product[kChains] = {};
        Vector sum[kChains] = {};
        for (std::int64_t i = 0; i < shape.pixels; i += kChains)
#pragma GCC unroll 4
          for (int j = 0; j < kChains; ++j)
            if (i + j < shape.pixels) {
              const std::int64_t at = (image * shape.pixels + i + j) * shape.channels + first + c;
              const Vector centred = load(x + at, size - c) - mean;
              const Vector dz = fma(centred, scale, beta) <= floor ? Vector{} : load(dy + at, size - c);
              product[j] = fma(dz, centred, product[j]);
              sum[j] += dz;
            }
        store(image_products + c, total(product));
        store(image_sums + c, total(sum));
      }
      for (std::int64_t c = 0; c < kBlock; ++c) products[c] += image_products[c];
      for (std::int64_t c = 0; c < kBlock; ++c) sums[c] += image_sums[c];
    }
    for (std::int64_t c = 0; c < size; ++c) {
      dgamma[first + c] = static_cast<float>(products[c] * block.inverse[c]);
      dbeta[first + c] = static_cast<float>(sums[c]);
    }
  }
}

// dx = scale (dz - dbeta / values - (x - mean) inverse dgamma / values).
void batch_norm_input_gradient(const BatchNormShape& shape, const float* x, const float* dy,
                               const BatchNormTerms& terms, const float* dgamma, const float* dbeta, float* dx) {
  const float floor = floor_of(terms.activation);
  const std::int64_t rows = shape.images * shape.pixels;
  for (std::int64_t first = 0; first < shape.channels; first += kBlock) {
    const std::int64_t size = block_size(shape.channels, first);
    BlockTerms block;
    load_terms(terms, first, size, block);
    float offset[kBlock] = {};
    float slope[kBlock] = {};
    for (std::int64_t c = 0; dgamma != nullptr && c < size; ++c) {
      const float factor = -block.scale[c] / static_cast<float>(rows);
      offset[c] = factor * dbeta[first + c];
      slope[c] = factor * block.inverse[c] * dgamma[first + c];
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = row * shape.channels + first;
      for (std::int64_t c = 0; c < size; c += kLanes) {
        const Vector scale = load(block.scale + c);
        const Vector centred = load(x + at + c, size - c) - load(block.mean + c);
        const Vector z = fma(centred, scale, load(block.beta + c));
        const Vector dz = z <= floor ? Vector{} : load(dy + at + c, size - c);
        store(dx + at + c, fma(scale, dz, fma(centred, load(slope + c), load(offset + c))), size - c);
      }
    }
  }
}

void add_groups(const float* values, std::int64_t groups, std::int64_t channels, float factor, float last_factor,
                bool accumulate, float* sums) {
  for (std::int64_t g = 0; g < groups; ++g, values += channels) {
    const float scale = g + 1 < groups ? factor : last_factor;
    if (accumulate || g > 0) {
      for (std::int64_t c = 0; c < channels; ++c) sums[c] = fma(scale, values[c], sums[c]);
    } else {
      for (std::int64_t c = 0; c < channels; ++c) sums[c] = scale * values[c];
    }
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
