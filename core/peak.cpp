// Compiled with contraction of a * b + c into fused multiply-adds, which the rest of Lockring forbids.
#include "core/peak.h"

#include "core/barrier.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace lockring {
namespace {

// Chains that do not depend on each other hide the latency of an FMA (4 cycles on 2 units need 8 at least); with the
// two factors they still fit the 16 vector registers of AVX2. They start apart, and away from their fixed
// point 1, or the compiler would merge or drop some.
constexpr int kChains = 12;
constexpr double kFlopsPerLane = 2.0 * kChains;
constexpr float kScale = 0.999f;
constexpr float kOffset = 0.001f;

using Vector256 = float __attribute__((vector_size(32)));
using Vector512 = float __attribute__((vector_size(64)));

// The two loops differ only in the vector's width: a function's instruction set does not follow a template's argument.
float run_chains(long rounds) {
  Vector256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vector256{} + static_cast<float>(i + 2);
  const Vector256 scale = Vector256{} + kScale;
  const Vector256 offset = Vector256{} + kOffset;
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (Vector256& sum : sums) sum = sum * scale + offset;
  }
  float total = 0;
  for (const Vector256& sum : sums) total += sum[0];
  return total;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float run_chains_avx512(long rounds) {
  Vector512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vector512{} + static_cast<float>(i + 2);
  const Vector512 scale = Vector512{} + kScale;
  const Vector512 offset = Vector512{} + kOffset;
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (Vector512& sum : sums) sum = sum * scale + offset;
  }
  float total = 0;
  for (const Vector512& sum : sums) total += sum[0];
  return total;
}
#endif

void triad(float* a, const float* b, const float* c, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) a[i] = b[i] + kScale * c[i];
}

// A result that the optimiser must compute.
void keep(float value) {
  volatile float sink = value;
  static_cast<void>(sink);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return seconds_since(start);
}

// Runs `body` on every thread at once, `repeats` times, and returns the best sum of the threads' rates, where one call
// of a body does `amount` of something.
double best_rate(int threads, int repeats, double amount, const std::function<std::function<void()>()>& make_body) {
  std::vector<double> rates(static_cast<std::size_t>(repeats) * threads);
  Barrier barrier(threads);
  const auto measure = [&](int thread) {
    const std::function<void()> body = make_body();
    body();  // pages touched, clocks up
    for (int repeat = 0; repeat < repeats && barrier.wait(); ++repeat) {
      rates[static_cast<std::size_t>(repeat) * threads + thread] = amount / seconds_of(body);
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int thread = 1; thread < threads; ++thread) others.emplace_back(measure, thread);
    } catch (const std::system_error& error) {
      barrier.abort();  // those that are there would wait for the others
      fail(ErrorCode::device, "cannot start {} threads: {}", threads, error.what());
    }
    measure(0);
  }
  double best = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    double sum = 0;
    for (int thread = 0; thread < threads; ++thread) sum += rates[static_cast<std::size_t>(repeat) * threads + thread];
    best = std::max(best, sum);
  }
  return best;
}

}  // namespace

double measure_fma_gflops(int threads) {
  constexpr double kSecondsPerRun = 0.005;
  constexpr int kRuns = 10;
  constexpr long kCalibration = 100000;
  float (*run)(long) = run_chains;
  double flops = kFlopsPerLane * sizeof(Vector256) / sizeof(float);
#if defined(__x86_64__)
  if (active_isa() == Isa::avx512) {
    run = run_chains_avx512;
    flops = kFlopsPerLane * sizeof(Vector512) / sizeof(float);
  }
#endif
  keep(run(kCalibration));
  const double per_round = seconds_of([&] { keep(run(kCalibration)); }) / kCalibration;
  const long rounds = std::max(kCalibration, static_cast<long>(kSecondsPerRun / per_round));
  const auto make_body = [&]() -> std::function<void()> { return [&] { keep(run(rounds)); }; };
  return best_rate(threads, kRuns, flops * static_cast<double>(rounds), make_body) * 1e-9;
}

double measure_memory_gbs(int threads) {
  constexpr std::size_t kLeast = std::size_t{64} << 20;
  constexpr std::size_t kMost = std::size_t{256} << 20;
  constexpr int kRuns = 4;
  // Four times the last cache, as STREAM asks, within reason.
  const std::size_t bytes = std::clamp(static_cast<std::size_t>(cache_bytes(3)) * 4, kLeast, kMost);
  const std::size_t size = bytes / 3 / sizeof(float) / static_cast<std::size_t>(threads);
  const auto make_body = [&]() -> std::function<void()> {
    std::vector<float> a(size), b(size, 1.0f), c(size, 2.0f);
    return [size, a = std::move(a), b = std::move(b), c = std::move(c)]() mutable {
      triad(a.data(), b.data(), c.data(), size);
      keep(a[size / 2]);
    };
  };
  return best_rate(threads, kRuns, 3.0 * sizeof(float) * static_cast<double>(size), make_body) * 1e-9;
}

}  // namespace lockring
