#include "distributed/agreement.h"

#include "core/error.h"
#include "distributed/digest.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace lockring::dist {
namespace {

std::vector<std::uint64_t> all_digests(World& world, std::uint64_t digest) {
  std::vector<std::uint64_t> digests;
  for (const std::string& text : world.all().all_gather(fmt::format("{}", digest))) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    digests.push_back(value);
  }
  return digests;
}

// The first lines that differ; empty for one that a text does not have any more.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream first(a), second(b);
  for (std::string x, y;;) {
    const bool more_x = static_cast<bool>(std::getline(first, x)), more_y = static_cast<bool>(std::getline(second, y));
    if (!more_x) x.clear();
    if (!more_y) y.clear();
    if (x != y || (!more_x && !more_y)) return {x, y};
  }
}

}  // namespace

void check_agreement(World& world, std::string_view what, const std::string& text) {
  if (world.size() == 1) return;
  const std::vector<std::uint64_t> digests = all_digests(world, digest(std::as_bytes(std::span(text))));
  const auto other = std::ranges::find_if(digests, [&](std::uint64_t d) { return d != digests[0]; });
  if (other == digests.end()) return;
  const std::vector<std::string> texts = world.all().all_gather(text);
  const auto rank = static_cast<int>(other - digests.begin());
  const auto [first, theirs] = first_difference(texts[0], texts[rank]);
  fail(ErrorCode::usage, "the ranks do not have {} in common: rank 0 on {} has '{}', rank {} on {} has '{}'", what,
       world.host(0), first, rank, world.host(rank), theirs);
}

void check_equal(World& world, std::string_view what, std::uint64_t digest) {
  if (world.size() == 1) return;
  std::string names;
  for (const int rank : odd_ones(all_digests(world, digest)))
    names += fmt::format("{}rank {} on {}", names.empty() ? "" : ", ", rank, world.host(rank));
  check(names.empty(), ErrorCode::device, "{} of {} are not those of the other ranks", what, names);
}

std::vector<int> odd_ones(const std::vector<std::uint64_t>& digests) {
  const auto usual =
      std::ranges::max(digests, {}, [&](std::uint64_t digest) { return std::ranges::count(digests, digest); });
  std::vector<int> odd;
  for (int i = 0; i < static_cast<int>(digests.size()); ++i)
    if (digests[i] != usual) odd.push_back(i);
  return odd;
}

}  // namespace lockring::dist
