#include "apps/train/bucket_hooks.h"

namespace lockring::app {

BucketHooks::Scope::Scope(BucketHooks& hooks, const float* gradients) {
  hooks.gradients_ = gradients;
  hooks.exchange_.begin_last_backward(hooks.replica_);
  set_gradient_hook([&hooks](const Tensor& gradient) { hooks.complete(gradient); });
}

BucketHooks::Scope::~Scope() { set_gradient_hook({}); }

// An op has just ended; those that have parameters are what takes the time.
void BucketHooks::complete(const Tensor& gradient) {
  exchange_.complete(replica_, gradient.data() - gradients_);
  if (replica_ == 0) exchange_.poll();
}

}  // namespace lockring::app
