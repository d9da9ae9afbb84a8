#include "apps/balance/policy.h"

#include "core/error.h"
#include "core/text.h"

#include <cmath>
#include <mutex>

namespace lockring::app::balance {
namespace {

// SplitMix64's mixing of bits.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A stream of numbers that threads share.
class SharedNumbers {
 public:
  std::uint64_t next() { return mixed(state_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed)); }

 private:
  std::atomic<std::uint64_t> state_{0x853c49e6748fea9b};
};

// In (0, 1).
double unit(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// What one more request would make of it.
double load(const Candidate& candidate) { return static_cast<double>(candidate.in_flight + 1) / candidate.weight; }

// As nginx does it: each turn raises everyone's credit by its weight, the highest goes and pays the sum of the weights.
class RoundRobin final : public Policy {
 public:
  std::size_t pick(std::span<const Candidate> candidates, const Request&) override {
    const std::lock_guard lock(mutex_);
    credit_.resize(candidates.size(), 0.0);
    std::size_t best = kNone;
    double sum = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].weight <= 0) continue;
      sum += candidates[i].weight;
      credit_[i] += candidates[i].weight;
      if (best == kNone || credit_[i] > credit_[best]) best = i;
    }
    if (best != kNone) credit_[best] -= sum;
    return best;
  }

 private:
  std::mutex mutex_;
  std::vector<double> credit_;
};

class LeastConnections final : public Policy {
 public:
  std::size_t pick(std::span<const Candidate> candidates, const Request&) override {
    // Looked at from another place each time, so that ties do not all go to the first.
    const std::size_t start = turn_.fetch_add(1, std::memory_order_relaxed);
    std::size_t best = kNone;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const std::size_t i = (start + k) % candidates.size();
      if (candidates[i].weight <= 0) continue;
      if (best == kNone || load(candidates[i]) < load(candidates[best])) best = i;
    }
    return best;
  }

 private:
  std::atomic<std::size_t> turn_{0};
};

class PowerOfTwo final : public Policy {
 public:
  std::size_t pick(std::span<const Candidate> candidates, const Request&) override {
    std::size_t usable = 0;
    for (const Candidate& candidate : candidates) usable += candidate.weight > 0 ? 1 : 0;
    if (usable == 0) return kNone;
    const std::size_t first = numbers_.next() % usable;
    if (usable == 1) return nth(candidates, 0);
    const std::size_t second = (first + 1 + numbers_.next() % (usable - 1)) % usable;
    const std::size_t a = nth(candidates, first);
    const std::size_t b = nth(candidates, second);
    return load(candidates[b]) < load(candidates[a]) ? b : a;
  }

 private:
  static std::size_t nth(std::span<const Candidate> candidates, std::size_t n) {
    std::size_t i = 0;
    for (;; ++i) {
      if (candidates[i].weight > 0 && n-- == 0) return i;
    }
  }

  SharedNumbers numbers_;
};

class Hash final : public Policy {
 public:
  std::size_t pick(std::span<const Candidate> candidates, const Request& request) override {
    if (request.key == 0) return keyless_.pick(candidates, request);
    std::size_t best = kNone;
    double best_score = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].weight <= 0) continue;
      const double score = -candidates[i].weight / std::log(unit(mixed(request.key ^ mixed(i + 1))));
      if (best == kNone || score > best_score) {
        best = i;
        best_score = score;
      }
    }
    return best;
  }

 private:
  LeastConnections keyless_;
};

}  // namespace

std::span<const std::string> policy_names() {
  static const std::string names[] = {"round-robin", "least-connections", "power-of-two", "hash"};
  return names;
}

std::unique_ptr<Policy> make_policy(std::string_view name) {
  if (name == "round-robin") return std::make_unique<RoundRobin>();
  if (name == "least-connections") return std::make_unique<LeastConnections>();
  if (name == "power-of-two") return std::make_unique<PowerOfTwo>();
  if (name == "hash") return std::make_unique<Hash>();
  fail(ErrorCode::usage, "unknown balancing policy '{}'{}; there are {}", printable(name),
       did_you_mean(name, policy_names()), joined(policy_names()));
}

// FNV-1a, then mixed: neighbouring keys are to be far apart.
std::uint64_t hash_key(std::string_view value) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : value) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = mixed(hash);
  return hash == 0 ? 1 : hash;
}

}  // namespace lockring::app::balance
