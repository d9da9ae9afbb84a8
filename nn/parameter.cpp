#include "nn/parameter.h"

#include <cmath>

namespace lockring::nn {

Initializer Initializer::he_normal(std::int64_t fan_in) {
  return {Kind::normal, std::sqrt(2.0F / static_cast<float>(fan_in))};
}

void Initializer::fill(Tensor& tensor, Rng& rng) const {
  for (float& element : tensor.values()) {
    switch (kind) {
      case Kind::constant:
        element = value;
        break;
      case Kind::uniform:
        element = rng.uniform(-value, value);
        break;
      case Kind::normal:
        element = value * rng.normal();
        break;
    }
  }
}

}  // namespace lockring::nn
