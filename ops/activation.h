// Activations that an op can apply to its result while it is still in cache.
#pragma once

namespace lockring {

enum class Activation { none, relu };

}  // namespace lockring
