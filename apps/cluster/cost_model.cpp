#include "apps/cluster/cost_model.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace lockring::app {
namespace {

// Backward makes gradients ready evenly, bucket after bucket; one is sent at a time.
double exposed_seconds(const CostModel& model, const JobShape& job, dist::Algorithm algorithm, double backward) {
  double ready = 0, end = 0;
  for (const std::int64_t bytes : job.buckets) {
    ready += backward / static_cast<double>(job.buckets.size());
    end = std::max(ready, end) + exchange_seconds(model, algorithm, job.hosts, bytes);
  }
  return end - backward;
}

}  // namespace

// Normal equations of sum ((fixed + slope * bytes) / seconds - 1)^2.
Line fit_line(const std::vector<TimeOfBytes>& times) {
  double ww = 0, wx = 0, xx = 0, w = 0, x = 0;
  for (const TimeOfBytes& time : times) {
    const double one = 1 / time.seconds, bytes = static_cast<double>(time.bytes) / time.seconds;
    ww += one * one;
    wx += one * bytes;
    xx += bytes * bytes;
    w += one;
    x += bytes;
  }
  const double determinant = ww * xx - wx * wx;
  const Line line{(w * xx - x * wx) / determinant, (ww * x - wx * w) / determinant};
  if (line.fixed < 0) return {0, x / xx};
  if (line.slope < 0) return {w / ww, 0};
  return line;
}

double compute_seconds(const CostModel& model, std::int64_t images) {
  const std::vector<ComputeCost>& points = model.compute;
  assert(!points.empty());
  const auto x = static_cast<double>(images);
  if (points.size() == 1) return points[0].seconds * x / static_cast<double>(points[0].images);
  std::size_t upper = 1;  // the segment whose line is taken, the first and last ones also outside
  while (upper + 1 < points.size() && points[upper].images < images) ++upper;
  const ComputeCost &a = points[upper - 1], &b = points[upper];
  const double slope = (b.seconds - a.seconds) / static_cast<double>(b.images - a.images);
  return std::max(a.seconds + slope * (x - static_cast<double>(a.images)), 0.0);
}

double exchange_seconds(const CostModel& model, dist::Algorithm algorithm, int hosts, std::int64_t bytes) {
  if (hosts == 1) return 0;
  const double p = hosts, n = static_cast<double>(bytes);
  const auto rounds = static_cast<double>(std::bit_width(static_cast<unsigned>(hosts)) - 1);
  // Hosts beyond a power of two give all to a neighbour first, and get all back.
  const double folding = std::has_single_bit(static_cast<unsigned>(hosts)) ? 0 : 2;
  double messages = 0, moved = 0;  // bytes over one link, one way
  switch (algorithm) {
    case dist::Algorithm::mpi:  // at its best
    case dist::Algorithm::ring:
      messages = 2 * (p - 1);
      moved = 2 * n * (p - 1) / p;
      break;
    case dist::Algorithm::recursive_doubling:
      messages = rounds + folding;
      moved = (rounds + folding) * n;
      break;
    case dist::Algorithm::halving_doubling:
      messages = 2 * rounds + folding;
      moved = (2 * (std::bit_floor(static_cast<unsigned>(hosts)) - 1.0) / std::bit_floor(static_cast<unsigned>(hosts)) +
               folding) *
              n;
      break;
  }
  return messages * model.latency_seconds + moved * model.link_seconds_per_byte;
}

// TCP over 10 Gbit/s; and a ring adds while the next segment is on its way, which halving-doubling does not.
dist::Algorithm usual_exchange(int hosts, std::int64_t bytes) {
  CostModel network;
  network.latency_seconds = 25e-6;
  network.link_seconds_per_byte = 0.85e-9;
  constexpr double kAddSecondsPerByte = 0.25e-9;
  const double adding = static_cast<double>(bytes) * (hosts - 1) / hosts * kAddSecondsPerByte;
  const double ring = exchange_seconds(network, dist::Algorithm::ring, hosts, bytes);
  const double halving = exchange_seconds(network, dist::Algorithm::halving_doubling, hosts, bytes) + adding;
  return halving < ring ? dist::Algorithm::halving_doubling : dist::Algorithm::ring;
}

StepCost predict_step(const CostModel& model, const JobShape& job) {
  StepCost cost;
  const int workers = job.hosts * job.replicas;
  const double crowding = job.cores > 0 ? std::max(1.0, static_cast<double>(workers) / job.cores) : 1.0;
  cost.compute = crowding * compute_seconds(model, job.shard);
  cost.update = crowding * model.update_seconds / job.replicas;
  if (job.replicas > 1) {
    // Those of a machine meet before and after the sum, and after the update.
    constexpr double kMeetings = 3;
    cost.node = kMeetings * model.meeting_seconds +
                (job.replicas + 1) * static_cast<double>(model.bytes) * model.memory_seconds_per_byte;
  }
  cost.exchange_algorithm = job.exchange.value_or(usual_exchange(job.hosts, model.bytes));
  // The few numbers beside the gradient go by themselves.
  const double tail = exchange_seconds(model, dist::Algorithm::recursive_doubling, job.hosts, 0);
  cost.exchange = exchange_seconds(model, cost.exchange_algorithm, job.hosts, model.bytes) + tail;
  cost.exposed = cost.exchange;
  if (!job.buckets.empty() && job.hosts > 1) {
    const std::int64_t images = job.last_micro_batch > 0 ? std::min(job.last_micro_batch, job.shard) : job.shard;
    const double backward =
        cost.compute * model.backward_share * static_cast<double>(images) / static_cast<double>(job.shard);
    cost.exposed = exposed_seconds(model, job, cost.exchange_algorithm, backward) + tail;
  }
  return cost;
}

}  // namespace lockring::app
