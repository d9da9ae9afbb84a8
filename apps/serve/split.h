// Traffic for one name, divided between models by weight, and copied to others that only watch.
#pragma once

#include "apps/serve/ensemble.h"
#include "apps/serve/servable.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockring::app::serve {

struct SplitOptions {
  std::string name;
  std::vector<Member> arms;  // one answers each request, chosen by weight; requests of equal affinity get the same
  // Gets a copy of this share of the requests; its answers are compared and dropped. Empty: none.
  std::string shadow;
  double shadow_share = 1;
};

// What was seen of one arm, and how often the shadow agreed.
struct ArmCounters {
  Counter requests = 0;
  Counter failures = 0;
  Durations request_seconds;
};
struct ShadowCounters {
  Counter same = 0;  // images that both gave the same class
  Counter different = 0;
  Counter failures = 0;  // requests that the shadow did not answer
};

class Split : public Servable {
 public:
  // As for an ensemble.
  Split(SplitOptions options, Lookup lookup);

  const Description& description() const override { return description_; }
  void submit(Request request, Done done) override;

  const SplitOptions& options() const { return options_; }
  const ArmCounters& arm(std::size_t arm) const { return shared_->arms[arm]; }
  const ShadowCounters& shadow() const { return shared_->shadow; }

 private:
  struct Shared {
    explicit Shared(std::size_t count) : arms(count) {}
    std::vector<ArmCounters> arms;
    ShadowCounters shadow;
  };
  struct Comparison;

  std::size_t choose(const Request& request);
  bool shadows();
  void submit_to_shadow(const Request& request, const std::shared_ptr<Comparison>& comparison) const;

  const SplitOptions options_;
  const Lookup lookup_;
  Description description_;
  double total_weight_ = 0;
  std::atomic<std::uint64_t> drawn_ = 0;
  // Shadows answer when they like, perhaps after the split is gone.
  std::shared_ptr<Shared> shared_;
};

}  // namespace lockring::app::serve
