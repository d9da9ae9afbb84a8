// The tile transforms of Winograd's minimal filtering for 3 x 3 kernels: Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks" (arXiv:1509.09308).
//
// With U = G g G^T of the weights and V = B^T d B of a tile of the input, a tile of results is A^T [U (.) V] A: one
// product over the channels for each of the tile's points. The gradient of the weights is
// G^T [sum over the tiles of V (.) (A dy A^T)] G. A tile of 4 x 4 results has 6 x 6 points.
//
// What is transformed lies point after point, `point_stride` floats apart, the first point row by row. All channels are
// multiples of kWinogradChannels.
#pragma once

#include "ops/activation.h"
#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

constexpr std::int64_t kWinogradChannels = 16;
constexpr std::int64_t kWinogradResults = 4;  // of a tile, in both directions
constexpr std::int64_t kWinogradPoints = 36;  // of a tile

// Images [n][h][w][channels] cut into tiles, numbered row by row through all images; or a part of each image's tiles.
// What a tile has outside its image reads as zeros and is not written.
struct WinogradTiles {
  std::int64_t rows, columns;   // tiles of an image
  std::int64_t h, w, channels;  // of an image
  std::int64_t border;          // the image's first tile begins so far outside of it, in both directions
  std::int64_t first_row = 0, first_column = 0;  // where the part begins, in tiles

  std::int64_t image() const { return rows * columns; }
};

// 3 x 3 weights, tap after tap: [9][rows][columns] with strides; columns are contiguous.
struct WinogradWeights {
  std::int64_t rows, columns;
  std::int64_t tap_stride, row_stride;
};

// V of `count` tiles of x from the tile `first` on: v[point][count][channels].
using WinogradInputFn = void(const WinogradTiles& tiles, const float* x, std::int64_t first, std::int64_t count,
                             float* v, std::int64_t point_stride);
// U[point][rows][columns] of the weights, or of the weights turned by 180 degrees, as the input gradient needs them.
using WinogradWeightsFn = void(const WinogradWeights& weights, const float* w, bool turned, float* u,
                               std::int64_t point_stride);
// y = activation(A^T m A + bias) in the tiles' places. `bias` may be null.
using WinogradOutputFn = void(const WinogradTiles& tiles, const float* m, std::int64_t point_stride, std::int64_t first,
                              std::int64_t count, const float* bias, Activation activation, float* y);
// The same with ReLU and 2 x 2 max pooling: y and source as in conv_relu_pool_kernel.h.
// `tiles` are those of the convolution's result, with even sizes.
using WinogradPoolFn = void(const WinogradTiles& tiles, const float* m, std::int64_t point_stride, std::int64_t first,
                            std::int64_t count, const float* bias, float* y, std::uint8_t* source);
// A dy A^T of tiles of results: z[point][count][channels].
using WinogradResultGradientFn = void(const WinogradTiles& tiles, const float* dy, std::int64_t first,
                                      std::int64_t count, float* z, std::int64_t point_stride);
// dw (+)= G^T du G, du[point][rows][columns].
using WinogradWeightGradientFn = void(const WinogradWeights& weights, const float* du, std::int64_t point_stride,
                                      bool accumulate, float* dw);

LOCKRING_DECLARE_SIMD_KERNEL(WinogradInputFn, winograd_input)
LOCKRING_DECLARE_SIMD_KERNEL(WinogradWeightsFn, winograd_weights)
LOCKRING_DECLARE_SIMD_KERNEL(WinogradOutputFn, winograd_output)
LOCKRING_DECLARE_SIMD_KERNEL(WinogradPoolFn, winograd_pool)
LOCKRING_DECLARE_SIMD_KERNEL(WinogradResultGradientFn, winograd_result_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(WinogradWeightGradientFn, winograd_weight_gradient)

constexpr Kernel<WinogradInputFn> kWinogradInput{"winograd", LOCKRING_SIMD_KERNELS(winograd_input), nullptr};
constexpr Kernel<WinogradWeightsFn> kWinogradWeights{"winograd", LOCKRING_SIMD_KERNELS(winograd_weights), nullptr};
constexpr Kernel<WinogradOutputFn> kWinogradOutput{"winograd", LOCKRING_SIMD_KERNELS(winograd_output), nullptr};
constexpr Kernel<WinogradPoolFn> kWinogradPool{"winograd", LOCKRING_SIMD_KERNELS(winograd_pool), nullptr};
constexpr Kernel<WinogradResultGradientFn> kWinogradResultGradient{
    "winograd", LOCKRING_SIMD_KERNELS(winograd_result_gradient), nullptr};
constexpr Kernel<WinogradWeightGradientFn> kWinogradWeightGradient{
    "winograd", LOCKRING_SIMD_KERNELS(winograd_weight_gradient), nullptr};

}  // namespace lockring
