#include "apps/serve/aggregate.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace lockring::app::serve {
namespace {

constexpr std::array kMethods = {"mean", "weighted", "vote"};
constexpr std::array kPolicies = {"all", "any", "quorum"};
// Of a vote: how much the mean counts. Votes of up to a thousand models differ by more.
constexpr double kTieBreak = 1e-3;

std::size_t index_of(std::span<const char* const> names, std::string_view name, const char* what) {
  const std::vector<std::string> words(names.begin(), names.end());
  const auto found = std::ranges::find(words, name);
  check(found != words.end(), "there is no {} '{}'; there are {}", what, name, joined(words));
  return static_cast<std::size_t>(found - words.begin());
}

std::span<const float> row_of(const Tensor& answers, std::int64_t row) {
  return answers.values().subspan(static_cast<std::size_t>(row * answers.size(1)),
                                  static_cast<std::size_t>(answers.size(1)));
}

}  // namespace

Method method_named(std::string_view name) { return static_cast<Method>(index_of(kMethods, name, "method")); }
Policy policy_named(std::string_view name) { return static_cast<Policy>(index_of(kPolicies, name, "policy")); }
std::string_view name_of(Method method) { return kMethods[static_cast<std::size_t>(method)]; }
std::string_view name_of(Policy policy) { return kPolicies[static_cast<std::size_t>(policy)]; }

bool enough(Policy policy, std::size_t answered, std::size_t members) {
  if (policy == Policy::all) return answered == members;
  return policy == Policy::any ? answered > 0 : 2 * answered > members;
}

std::size_t likeliest(std::span<const float> probabilities) {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

Aggregate aggregate(Method method, std::span<const Tensor> answers, std::span<const double> weights) {
  const std::int64_t rows = answers[0].size(0);
  const std::int64_t classes = answers[0].size(1);
  Aggregate result{Tensor::empty(answers[0].shape()), Tensor::empty({rows})};
  std::vector<double> shares(static_cast<std::size_t>(classes));
  const std::vector<double> equal(answers.size(), 1.0);
  const std::span<const double> of_mean = method == Method::weighted ? weights : std::span<const double>(equal);
  const double total = std::accumulate(of_mean.begin(), of_mean.end(), 0.0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::ranges::fill(shares, 0.0);
    for (std::size_t m = 0; m < answers.size(); ++m) {
      const std::span<const float> said = row_of(answers[m], row);
      const double weight = of_mean[m] / total * (method == Method::vote ? kTieBreak : 1);
      for (std::size_t c = 0; c < shares.size(); ++c) shares[c] += weight * said[c];
      if (method == Method::vote) shares[likeliest(said)] += (1 - kTieBreak) / static_cast<double>(answers.size());
    }
    float* to = result.probabilities.data() + row * classes;
    std::ranges::transform(shares, to, [](double share) { return static_cast<float>(share); });
    const std::size_t label = likeliest({to, static_cast<std::size_t>(classes)});
    const auto agreeing =
        std::ranges::count_if(answers, [&](const Tensor& answer) { return likeliest(row_of(answer, row)) == label; });
    result.agreement.data()[row] = static_cast<float>(agreeing) / static_cast<float>(answers.size());
  }
  return result;
}

}  // namespace lockring::app::serve
