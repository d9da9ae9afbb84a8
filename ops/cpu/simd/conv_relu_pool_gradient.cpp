#include "ops/conv_relu_pool_kernel.h"

#include "ops/cpu/simd/vector.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

constexpr int kTaps = 9;
constexpr std::int64_t kMaskBits = 64;

// Bit i says whether byte i is `value`, for up to 64 bytes, a multiple of 16.
LOCKRING_INLINE std::uint64_t equal_bytes(const std::uint8_t* bytes, std::int64_t count, std::uint8_t value) {
  std::uint64_t mask = 0;
#if defined(__AVX2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(value));
  for (std::int64_t i = 0; i < count; i += 16) {
    const __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i)), wanted);
    mask |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(equal))) << i;
  }
#else
  for (std::int64_t i = 0; i < count; ++i) mask |= static_cast<std::uint64_t>(bytes[i] == value) << i;
#endif
  return mask;
}

// Where tap `tap` of place `place` of a window lies, from the window's corner in an image, in floats.
LOCKRING_INLINE std::int64_t input_at(const ConvShape& s, int place, int tap) {
  return ((place / 2 + tap / 3) * s.w + place % 2 + tap % 3) * s.in;
}

// Which channels of each window came from each of its places: masks[windows][4][mask_words(out)].
LOCKRING_INLINE std::int64_t mask_words(const ConvShape& s) { return (s.out + kMaskBits - 1) / kMaskBits; }
void find_masks(const ConvShape& s, const std::uint8_t* source, std::int64_t windows, std::uint64_t* masks) {
  for (std::int64_t window = 0; window < windows; ++window, source += s.out)
    for (std::uint8_t place = 0; place < 4; ++place)
      for (std::int64_t first = 0; first < s.out; first += kMaskBits)
        *masks++ = equal_bytes(source + first, s.out - first < kMaskBits ? s.out - first : kMaskBits, place);
}

// dx of the 4 x 4 inputs that a window's taps reach += dy * w, place by place.
LOCKRING_INLINE void add_window(const ConvShape& s, const float* dy, const std::uint64_t* masks, const float* weights,
                                float* corner) {
  Vector sums[4][4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) sums[i / 4][i % 4] = load(corner + (i / 4 * s.w + i % 4) * s.in);
#pragma GCC unroll 4
  for (int place = 0; place < 4; ++place)
    for (std::int64_t first = 0; first < s.out; first += kMaskBits)
      for (std::uint64_t mask = *masks++; mask != 0; mask &= mask - 1) {
        const std::int64_t out = first + __builtin_ctzll(mask);
        const Vector value = broadcast(dy[out]);
        const float* from = weights + out * kTaps * kLanes;
#pragma GCC unroll 9
        for (int tap = 0; tap < kTaps; ++tap) {
          Vector& sum = sums[place / 2 + tap / 3][place % 2 + tap % 3];
          sum = fma(value, load(from + tap * kLanes), sum);
        }
      }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) store(corner + (i / 4 * s.w + i % 4) * s.in, sums[i / 4][i % 4]);
}

}  // namespace

void window_input_gradient(const ConvShape& shape, const float* dy, const std::uint8_t* source, const float* w,
                           float* weights, std::uint64_t* masks, float* dx) {
  const ConvShape s = shape;  // which no store can change
  const std::int64_t rows = s.oh / 2;
  const std::int64_t columns = s.ow / 2;
  const std::int64_t windows = s.n * rows * columns;
  const std::int64_t words = mask_words(s);
  find_masks(s, source, windows, masks);
  for (std::int64_t i = 0; i < s.n * s.h * s.w * s.in; i += kLanes) store(dx + i, Vector{});
  for (std::int64_t c = 0; c < s.in; c += kLanes) {
    for (std::int64_t i = 0; i < s.out * kTaps; ++i) store(weights + i * kLanes, load(w + i * s.in + c));
    for (std::int64_t window = 0; window < windows; ++window) {
      const std::int64_t row = window / columns;
      float* corner = dx + ((row / rows * s.h + row % rows * 2) * s.w + window % columns * 2) * s.in + c;
      add_window(s, dy + window * s.out, masks + window * 4 * words, weights, corner);
    }
  }
}

namespace {

// What one image's windows hand back: their gradient, or 0, and where in the image the taps of its place begin, in
// floats. [windows][out].
void find_places(const ConvShape& s, const float* dy, const std::uint8_t* source, float* values, std::int32_t* inputs) {
  const std::int64_t columns = s.ow / 2;
  for (std::int64_t window = 0; window < s.oh / 2 * columns; ++window) {
    Integers at[4];
    const std::int64_t corner = (window / columns * s.w + window % columns) * 2 * s.in;
    for (int place = 0; place < 4; ++place)
      at[place] = Integers{} + static_cast<std::int32_t>(corner + input_at(s, place, 0));
    for (std::int64_t i = window * s.out; i < (window + 1) * s.out; i += kLanes) {
      const Integers from = load_bytes(source + i);
      store(values + i, from < kNoSource ? load(dy + i) : Vector{});
      Integers input = at[0];
      for (int place = 1; place < 4; ++place) input = from == place ? at[place] : input;
      store(reinterpret_cast<float*>(inputs + i), reinterpret_cast<Vector>(input));
    }
  }
}

// dw of one output channel and kWide registers of input channels += the sum over one image's windows.
template <int kWide>
LOCKRING_INLINE void add_windows(const ConvShape& s, const float* image, const float* values,
                                 const std::int32_t* inputs, bool accumulate, float* dw) {
  Vector sums[kTaps][kWide];
#pragma GCC unroll 9
  for (int tap = 0; tap < kTaps; ++tap)
    for (int i = 0; i < kWide; ++i) sums[tap][i] = accumulate ? load(dw + tap * s.in + i * kLanes) : Vector{};
  // Addresses are read two windows ahead: older loads go first, and there is always one.
  const std::int64_t end = s.oh / 2 * (s.ow / 2) * s.out;
  const auto input_of = [&](std::int64_t i) { return image + inputs[i < end ? i : 0]; };
  const float* next = input_of(0);
  const float* after_next = input_of(s.out);
  for (std::int64_t i = 0; i < end; i += s.out) {
    const Vector value = broadcast(values[i]);
    const float* input = next;
    next = after_next;
    after_next = input_of(i + 2 * s.out);
#pragma GCC unroll 3
    for (int kh = 0; kh < 3; ++kh, input += s.w * s.in) {
      asm("" : "+r"(input));  // or GCC would keep a register for each tap's offset
      for (int kw = 0; kw < 3; ++kw)
        for (int j = 0; j < kWide; ++j)
          sums[3 * kh + kw][j] = fma(value, load(input + kw * s.in + j * kLanes), sums[3 * kh + kw][j]);
    }
  }
#pragma GCC unroll 9
  for (int tap = 0; tap < kTaps; ++tap)
    for (int i = 0; i < kWide; ++i) store(dw + tap * s.in + i * kLanes, sums[tap][i]);
}

}  // namespace

void window_weight_gradient(const ConvShape& shape, const float* x, const float* dy, const std::uint8_t* source,
                            bool accumulate, float* values, std::int32_t* inputs, float* dw) {
  const ConvShape s = shape;
  const std::int64_t image = s.oh / 2 * (s.ow / 2) * s.out;
  for (std::int64_t n = 0; n < s.n; ++n, accumulate = true) {
    find_places(s, dy + n * image, source + n * image, values, inputs);
    for (std::int64_t out = 0; out < s.out; ++out) {
      const float* from = x + n * s.h * s.w * s.in;
      float* to = dw + out * kTaps * s.in;
      std::int64_t c = 0;
      if constexpr (kLanes == 16)  // there are registers enough for two at once
        for (; c + 2 * kLanes <= s.in; c += 2 * kLanes)
          add_windows<2>(s, from + c, values + out, inputs + out, accumulate, to + c);
      for (; c < s.in; c += kLanes) add_windows<1>(s, from + c, values + out, inputs + out, accumulate, to + c);
    }
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
