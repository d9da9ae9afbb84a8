#include "apps/serve/version_policy.h"

#include "apps/select/selection.h"
#include "core/error.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>

namespace lockring::app::serve {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

std::int64_t number_in(const std::string& text, std::string_view part) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  check(error == std::errc() && rest == part.data() + part.size() && number > 0,
        "the version policy is '{}'; expected latest:N, all, or versions such as 1,3", text);
  return number;
}

}  // namespace

std::vector<std::int64_t> VersionPolicy::candidates(const std::vector<std::int64_t>& there) const {
  std::vector<std::int64_t> wanted;
  std::ranges::copy_if(there, std::back_inserter(wanted), [this](std::int64_t version) {
    return only.empty() || std::ranges::find(only, version) != only.end();
  });
  return wanted;
}

VersionPolicy parse_version_policy(const std::string& text) {
  constexpr std::string_view kLatest = "latest:";
  if (text == "latest") return {};
  if (text == "all") return {.most = kAny};
  if (text.starts_with(kLatest)) return {.most = number_in(text, std::string_view(text).substr(kLatest.size()))};
  VersionPolicy policy{.most = kAny};
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    policy.only.push_back(number_in(text, rest.substr(0, comma)));
    if (comma == std::string_view::npos) return policy;
    rest.remove_prefix(comma + 1);
  }
}

VersionPolicies::VersionPolicies(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      usual_ = parse_version_policy(text);
      continue;
    }
    const std::string model = text.substr(0, equals);
    check(is_model_name(model), "'{}' is no name for a model, in the version policy '{}'", model, text);
    own_[model] = parse_version_policy(text.substr(equals + 1));
  }
}

const VersionPolicy& VersionPolicies::of(const std::string& model) const {
  const auto own = own_.find(model);
  return own == own_.end() ? usual_ : own->second;
}

}  // namespace lockring::app::serve
