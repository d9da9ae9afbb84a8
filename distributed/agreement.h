// Ranks that must have the same make sure of it, and name those who have not.
#pragma once

#include "distributed/world.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::dist {

// Every rank passes a text of lines. Throws Error{usage} on all of them, naming a rank that differs and the first lines
// that do, unless all are equal. Only digests travel while they are. `what`: "the model".
void check_agreement(World& world, std::string_view what, const std::string& text);

// Every rank passes the digest of what it holds. Throws Error{device} on all of them, naming those who differ from
// most, unless all are equal. `what`: "the parameters".
void check_equal(World& world, std::string_view what, std::uint64_t digest);

// The members whose digests differ from the most frequent one; if two are as frequent, from the earlier one.
std::vector<int> odd_ones(const std::vector<std::uint64_t>& digests);

}  // namespace lockring::dist
