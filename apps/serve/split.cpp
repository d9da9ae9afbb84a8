#include "apps/serve/split.h"

#include "core/error.h"

#include <mutex>
#include <utility>

namespace lockring::app::serve {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a number in [0, 1) that looks random, the same for the same seed.
double uniform(std::uint64_t seed) {
  seed += 0x9e3779b97f4a7c15;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((seed ^ (seed >> 31)) >> 11) * 0x1p-53;
}

std::vector<Member> all_of(const SplitOptions& options) {
  std::vector<Member> all = options.arms;
  if (!options.shadow.empty()) all.push_back({options.shadow});
  return all;
}

}  // namespace

// The first answer waits here for the second.
struct Split::Comparison {
  std::shared_ptr<Shared> shared;
  std::mutex mutex;
  bool first_failed = false;
  Tensor first;
  bool have_first = false;

  void add(const Answer& answer, bool is_shadow) {
    const std::scoped_lock lock(mutex);
    if (is_shadow && answer.outcome != Outcome::ok) shared->shadow.failures.fetch_add(1);
    if (!std::exchange(have_first, true)) {
      first = answer.probabilities;
      return;
    }
    if (!first.defined() || !answer.probabilities.defined()) return;
    const auto classes = static_cast<std::size_t>(first.size(1));
    for (std::size_t at = 0; at < first.values().size(); at += classes) {
      const auto row = [&](const Tensor& tensor) { return likeliest(tensor.values().subspan(at, classes)); };
      (row(std::as_const(first)) == row(answer.probabilities) ? shared->shadow.same : shared->shadow.different)
          .fetch_add(1);
    }
  }
};

Split::Split(SplitOptions options, Lookup lookup)
    : options_(std::move(options)),
      lookup_(std::move(lookup)),
      description_(common_description(options_.name, all_of(options_), lookup_)),
      shared_(std::make_shared<Shared>(options_.arms.size())) {
  check(options_.shadow_share > 0 && options_.shadow_share <= 1, "a share of {} of '{}' cannot be shadowed",
        options_.shadow_share, options_.name);
  description_.platform = "split";
  for (const Member& arm : options_.arms) total_weight_ += arm.weight;
}

std::size_t Split::choose(const Request& request) {
  const std::uint64_t seed = request.affinity != 0 ? request.affinity : drawn_.fetch_add(1, std::memory_order_relaxed);
  double at = uniform(seed) * total_weight_;
  for (std::size_t arm = 0; arm + 1 < options_.arms.size(); ++arm) {
    at -= options_.arms[arm].weight;
    if (at < 0) return arm;
  }
  return options_.arms.size() - 1;
}

bool Split::shadows() {
  constexpr std::uint64_t kOtherDraws = std::uint64_t{1} << 63;
  return !options_.shadow.empty() &&
         uniform(kOtherDraws | drawn_.fetch_add(1, std::memory_order_relaxed)) < options_.shadow_share;
}

void Split::submit(Request request, Done done) {
  const auto arrived = Clock::now();
  const std::size_t arm = choose(request);
  const std::int64_t rows = request.images.size(0);
  const std::shared_ptr<Servable> servable = lookup_(options_.arms[arm].name);
  std::shared_ptr<Comparison> comparison;
  if (shadows()) {
    comparison = std::make_shared<Comparison>();
    comparison->shared = shared_;
    submit_to_shadow(request, comparison);
  }
  const auto answered = [this, arm, rows, arrived, comparison, done = std::move(done)](Answer answer) {
    ArmCounters& counters = shared_->arms[arm];
    counters.requests.fetch_add(1, std::memory_order_relaxed);
    if (answer.outcome != Outcome::ok) counters.failures.fetch_add(1, std::memory_order_relaxed);
    counters.request_seconds.add(Clock::now() - arrived);
    if (comparison != nullptr) comparison->add(answer, false);
    count(answer, rows, arrived);
    done(std::move(answer));
  };
  if (servable != nullptr) return servable->submit(std::move(request), answered);
  answered({.outcome = Outcome::unavailable,
            .message = fmt::format("model '{}' of '{}' is not loaded", options_.arms[arm].name, options_.name)});
}

// On its own: nobody waits for it, and it must not hold up the one that counts.
void Split::submit_to_shadow(const Request& request, const std::shared_ptr<Comparison>& comparison) const {
  const auto answered = [comparison](const Answer& answer) { comparison->add(answer, true); };
  const std::shared_ptr<Servable> shadow = lookup_(options_.shadow);
  if (shadow == nullptr) return answered({.outcome = Outcome::unavailable});
  Request copy = request;
  copy.cancellation = nullptr;
  copy.inline_allowed = false;
  shadow->submit(std::move(copy), answered);
}

}  // namespace lockring::app::serve
