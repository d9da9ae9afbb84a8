// Follows the last backward of a replica's step, so that what is complete travels while the rest is computed.
#pragma once

#include "core/autograd.h"
#include "distributed/gradient_exchange.h"

namespace lockring::app {

// Made once a replica.
class BucketHooks {
 public:
  BucketHooks(dist::GradientExchange& exchange, int replica) : exchange_(exchange), replica_(replica) {}

  // While it lives, on the replica's thread, gradients that a backward completes are told to the exchange.
  class Scope {
   public:
    // `gradients` is the start of the arena that the gradients lie in.
    Scope(BucketHooks& hooks, const float* gradients);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

 private:
  void complete(const Tensor& gradient);

  dist::GradientExchange& exchange_;
  const int replica_;
  const float* gradients_ = nullptr;
};

}  // namespace lockring::app
