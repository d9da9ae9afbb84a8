#include "apps/train/step_tracer.h"

#include "core/error.h"
#include "core/files.h"

#include <utility>

namespace lockring::app {
namespace {

// The first steps allocate memory and fill caches.
constexpr std::int64_t kWarmUpSteps = 10;

}  // namespace

StepTracer::StepTracer(std::filesystem::path file, std::int64_t steps, Trainer& trainer, RunDirectory::Warn warn)
    : file_(std::move(file)), steps_(steps), trainer_(trainer), warn_(std::move(warn)), warm_up_left_(kWarmUpSteps) {}

// A run that would end before warms up for a shorter time.
void StepTracer::before_step(std::int64_t left) {
  if (trace_ || (warm_up_left_-- > 0 && left > steps_)) return;
  trace_.emplace(trainer_.options().replicas, trainer_.options().devices);
  trainer_.set_trace(&*trace_);
}

void StepTracer::after_step() {
  if (trace_ && !written_ && std::ssize(trace_->steps()) == steps_) write();
}

void StepTracer::finish() {
  if (trace_ && !written_ && !trace_->steps().empty()) write();
}

void StepTracer::write() {
  trainer_.set_trace(nullptr);
  written_ = true;
  try {
    write_file(file_, chrome_trace(*trace_));
  } catch (const Error& error) {
    warn_(std::string(error.what()) + "; training goes on without it");
  }
}

}  // namespace lockring::app
