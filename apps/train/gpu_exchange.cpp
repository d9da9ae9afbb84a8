#include "apps/train/gpu_exchange.h"

#include "apps/train/gradient_segments.h"
#include "core/autograd.h"
#include "distributed/buckets.h"

#include <algorithm>

namespace lockring::app {

GpuExchange::GpuExchange(std::unique_ptr<dist::DeviceCommunicator> gpus, nn::Arena gradient, std::int64_t bucket_bytes)
    : gpus_(std::move(gpus)),
      gradient_(std::move(gradient)),
      buckets_(dist::cut_buckets(gradient_segments(gradient_.layout()), bucket_bytes)),
      awaited_(buckets_.size()) {
  for (const nn::Segment& segment : gradient_.layout().segments())
    awaited_[dist::bucket_at(buckets_, segment.offset)] += segment.kind != nn::ParameterKind::statistic;
}

void GpuExchange::begin(bool early) {
  early_ = early;
  waiting_ = awaited_;
  started_ = 0;
}

void GpuExchange::complete(std::int64_t offset) {
  --waiting_[dist::bucket_at(buckets_, offset)];
  if (early_) start_ready();
}

void GpuExchange::start_ready() {
  for (; started_ < buckets_.size() && waiting_[started_] == 0; ++started_) {
    const auto [begin, end] = buckets_[started_];
    gpus_->follow_thread();
    gpus_->all_reduce(gradient_.buffer().slice(begin, end).values());
  }
}

void GpuExchange::finish() {
  std::ranges::fill(waiting_, 0);
  start_ready();
  gpus_->hold_thread();
}

GpuExchange::Scope::Scope(GpuExchange& exchange) {
  set_gradient_hook(
      [&exchange](const Tensor& gradient) { exchange.complete(gradient.data() - exchange.gradient_.buffer().data()); });
}

GpuExchange::Scope::~Scope() { set_gradient_hook({}); }

}  // namespace lockring::app
