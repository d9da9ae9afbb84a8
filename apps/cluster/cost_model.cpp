#include "apps/cluster/cost_model.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace lockring::app {
namespace {

// A link whose unused bytes of a pause go at once later.
class Link {
 public:
  explicit Link(const CostModel& model) : model_(model), saved_(model.burst_bytes) {}

  void rest(double seconds) {
    if (model_.link_seconds_per_byte > 0)
      saved_ = std::min(saved_ + seconds / model_.link_seconds_per_byte, model_.burst_bytes);
  }
  double send(const Traffic& traffic) {
    const double at_once = std::min(traffic.bytes, saved_);
    saved_ -= at_once;
    return traffic.messages * model_.latency_seconds + at_once * model_.burst_seconds_per_byte +
           (traffic.bytes - at_once) * model_.link_seconds_per_byte;
  }

 private:
  const CostModel& model_;
  double saved_;
};

// How long after the backward pass its exchange ends. Gradients become ready evenly, bucket after bucket; one is sent
// at a time. `others` is what the rest of the step takes, in which the link rests.
double exposed_seconds(const CostModel& model, const JobShape& job, dist::Algorithm algorithm, double backward,
                       double others) {
  // So many steps that what is saved up for a step no longer changes.
  constexpr int kSteps = 100;
  Link link(model);
  double end = 0;
  for (int step = 0; step < kSteps; ++step) {
    double ready = 0;
    end = 0;
    for (const std::int64_t bytes : job.buckets) {
      ready += backward / static_cast<double>(job.buckets.size());
      link.rest(std::max(ready - end, 0.0));
      end = std::max(ready, end) + link.send(traffic_of(algorithm, job.hosts, bytes));
    }
    link.rest(others);
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

// The shortest ones go at once and tell the speed; the longest ones tell how many bytes have.
void fit_burst(const std::vector<TimeOfBytes>& rested, int hosts, CostModel& cost) {
  const auto sent = [&](std::size_t i) { return traffic_of(dist::Algorithm::ring, hosts, rested[i].bytes).bytes; };
  const std::size_t short_ones = std::min<std::size_t>(2, rested.size() - 1);
  const double speed = (rested[short_ones].seconds - rested[0].seconds) / (sent(short_ones) - sent(0));
  const double at_once = std::clamp(speed, 0.0, cost.link_seconds_per_byte);
  double gained = 0;
  for (const TimeOfBytes& time : rested)
    gained = std::max(gained, exchange_seconds(cost, dist::Algorithm::ring, hosts, time.bytes) - time.seconds);
  // What is less than a fifth of a short one's time may as well be noise.
  constexpr double kNoise = 0.2;
  const bool bursts = gained > kNoise * rested[short_ones].seconds && at_once < cost.link_seconds_per_byte / 2;
  cost.burst_bytes = bursts ? gained / (cost.link_seconds_per_byte - at_once) : 0;
  cost.burst_seconds_per_byte = bursts ? at_once : 0;
}

Traffic traffic_of(dist::Algorithm algorithm, int hosts, std::int64_t bytes) {
  if (hosts == 1) return {};
  const double p = hosts, n = static_cast<double>(bytes);
  const auto even = static_cast<double>(std::bit_floor(static_cast<unsigned>(hosts)));
  const auto rounds = static_cast<double>(std::bit_width(static_cast<unsigned>(hosts)) - 1);
  // Hosts beyond a power of two give all to a neighbour first, and get all back.
  const double folding = even == p ? 0 : 2;
  switch (algorithm) {
    case dist::Algorithm::recursive_doubling:
      return {rounds + folding, (rounds + folding) * n};
    case dist::Algorithm::halving_doubling:
      return {2 * rounds + folding, (2 * (even - 1) / even + folding) * n};
    case dist::Algorithm::mpi:  // at its best
    case dist::Algorithm::ring:
      break;
  }
  return {2 * (p - 1), 2 * n * (p - 1) / p};
}

double exchange_seconds(const CostModel& model, dist::Algorithm algorithm, int hosts, std::int64_t bytes) {
  const Traffic traffic = traffic_of(algorithm, hosts, bytes);
  return traffic.messages * model.latency_seconds + traffic.bytes * model.link_seconds_per_byte;
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
  // A step is over before the system has moved anyone to another core, and all wait for the fullest one.
  const double crowding = job.cores > 0 ? (workers + job.cores - 1) / job.cores : 1;
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
  if (job.hosts == 1) return cost;
  const std::int64_t images = job.last_micro_batch > 0 ? std::min(job.last_micro_batch, job.shard) : job.shard;
  const double backward =
      cost.compute * model.backward_share * static_cast<double>(images) / static_cast<double>(job.shard);
  // One bucket is ready when backward ends.
  JobShape sent = job;
  if (sent.buckets.empty()) sent.buckets = {model.bytes};
  const double others = cost.compute - backward + cost.update + cost.node + tail;
  cost.exposed = exposed_seconds(model, sent, cost.exchange_algorithm, backward, others) + tail;
  return cost;
}

}  // namespace lockring::app
