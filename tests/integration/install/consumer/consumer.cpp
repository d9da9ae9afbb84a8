// The gradient of a linear layer, through the installed headers and libraries alone.
#include "core/autograd.h"
#include "ops/linear.h"

#include <cstdio>

int main() {
  const lockring::Tensor x = lockring::Tensor::from({1, 2}, {1, 2});
  lockring::Leaf weight(lockring::Tensor::from({3, 4}, {1, 2}));
  const lockring::Tensor bias = lockring::Tensor::from({5}, {1});
  const lockring::Tensor y = lockring::ops::linear(x, weight.tensor(), bias);
  lockring::backward(y);
  const bool right = y.item() == 16 && weight.grad().data()[0] == 1 && weight.grad().data()[1] == 2;
  std::puts(right ? "consumer: right" : "consumer: wrong");
  return right ? 0 : 1;
}
