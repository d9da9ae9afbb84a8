// How the answers of several models become one.
#pragma once

#include "core/tensor.h"

#include <span>
#include <string>
#include <string_view>

namespace lockring::app::serve {

enum class Method {
  mean,      // of the probabilities
  weighted,  // the same, each model by its weight
  vote,      // each model has one vote for its likeliest class; what is even is decided by the mean
};
// When an answer is one although members failed or were late.
enum class Policy {
  all,     // never
  any,     // as long as one answered
  quorum,  // as long as more than half did
};

// Throw Error{usage} on another word.
Method method_named(std::string_view name);
Policy policy_named(std::string_view name);
std::string_view name_of(Method method);
std::string_view name_of(Policy policy);

bool enough(Policy policy, std::size_t answered, std::size_t members);

struct Aggregate {
  Tensor probabilities;  // f32 [n, classes]; of a vote, the shares of the votes but for a thousandth, which is the mean
  Tensor agreement;      // f32 [n]: the share of the models whose likeliest class is the result's
};

// `answers` are f32 [n, classes] of finite values, at least one; `weights` one each, positive.
Aggregate aggregate(Method method, std::span<const Tensor> answers, std::span<const double> weights);

// The position of the largest value.
std::size_t likeliest(std::span<const float> probabilities);

}  // namespace lockring::app::serve
