#include "apps/serve/traffic.h"

#include "core/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lockring::app::serve {
namespace {

constexpr int kMostReplicas = 256;

template <class T>
T number_of(std::string_view text, std::string_view whole) {
  T number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc() && rest == text.data() + text.size() && number > 0, "'{}': '{}' is not a number above 0",
        whole, text);
  return number;
}

Member parse_member(std::string_view text, std::string_view whole) {
  const std::size_t colon = text.rfind(':');
  Member member{.name = std::string(text.substr(0, colon))};
  check(!member.name.empty(), "'{}': expected names of models", whole);
  if (colon != std::string_view::npos) member.weight = number_of<double>(text.substr(colon + 1), whole);
  check(std::isfinite(member.weight), "'{}': a weight is not finite", whole);
  return member;
}

std::pair<std::string_view, std::string_view> name_and_rest(std::string_view text, const char* expected) {
  const std::size_t equals = text.find('=');
  check(equals != std::string_view::npos && equals > 0, "'{}': expected {}", text, expected);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

SplitOptions parse_split(std::string_view text) {
  auto [name, rest] = name_and_rest(text, "NAME=A:WEIGHT,B:WEIGHT");
  SplitOptions split{.name = std::string(name), .arms = {}, .shadow = ""};
  while (true) {
    const std::size_t comma = rest.find(',');
    split.arms.push_back(parse_member(rest.substr(0, comma), text));
    if (comma == std::string_view::npos) return split;
    rest.remove_prefix(comma + 1);
  }
}

void add_shadow(std::string_view text, std::vector<SplitOptions>& splits) {
  const auto [name, rest] = name_and_rest(text, "NAME=MODEL:SHARE");
  const auto split = std::ranges::find(splits, name, &SplitOptions::name);
  check(split != splits.end(), "'{}': there is no split '{}'", text, name);
  check(split->shadow.empty(), "'{}': the split has a shadow already", text);
  const Member shadow = parse_member(rest, text);
  split->shadow = shadow.name;
  split->shadow_share = shadow.weight;
}

ReplicaRange parse_replicas(std::string_view text, int cores) {
  if (text == "auto") return {1, cores};
  const std::string whole = "--replicas " + std::string(text);
  ReplicaRange range;
  constexpr std::string_view kAuto = "auto:";
  if (text.starts_with(kAuto)) {
    const std::string_view bounds = text.substr(kAuto.size());
    const std::size_t dash = bounds.find('-');
    check(dash != std::string_view::npos, "--replicas '{}': expected auto:LEAST-MOST", text);
    range = {number_of<int>(bounds.substr(0, dash), whole), number_of<int>(bounds.substr(dash + 1), whole)};
  } else {
    range.least = range.most = number_of<int>(text, whole);
  }
  check(range.least <= range.most && range.most <= kMostReplicas, "--replicas '{}' is not possible; from 1 to {}", text,
        kMostReplicas);
  return range;
}

}  // namespace lockring::app::serve
