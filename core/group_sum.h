// Sums over the parts of a batch that others compute at the same time: what an op needs that looks at the whole batch.
#pragma once

#include <span>

namespace lockring {

class GroupSum {
 public:
  virtual ~GroupSum() = default;
  // Adds up the values of all members, in place; all get the same bits. Every member calls it as often as the others,
  // with as many values; those without images too.
  virtual void sum(std::span<double> values) = 0;
};

}  // namespace lockring
