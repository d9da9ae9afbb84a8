#include "apps/serve/ensemble.h"

#include "core/error.h"
#include "ops/all_finite.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace lockring::app::serve {

bool alike(const Description& one, const Description& other) {
  return one.image == other.image && one.classes == other.classes && one.light_on_dark == other.light_on_dark;
}

Description common_description(const std::string& name, const std::vector<Member>& members, const Lookup& lookup) {
  check(!members.empty(), "'{}' has no members", name);
  Description common;
  for (const Member& member : members) {
    check(member.name != name, "'{}' cannot be a member of itself", name);
    check(member.weight > 0, "the weight of '{}' in '{}' is {}; expected one above 0", member.name, name,
          member.weight);
    const std::shared_ptr<Servable> servable = lookup(member.name);
    check(servable != nullptr, "there is no model '{}', a member of '{}'", member.name, name);
    if (&member == &members.front()) common = servable->description();
    check(alike(common, servable->description()),
          "'{}' and '{}' take other images, or tell other classes apart; '{}' "
          "cannot have both",
          members.front().name, member.name, name);
  }
  Description description{.name = name,
                          .platform = "",
                          .input = common.input,
                          .image = common.image,
                          .light_on_dark = common.light_on_dark,
                          .classes = common.classes,
                          .max_batch = common.max_batch};
  for (const Member& member : members) description.members.emplace_back(member.name, member.weight);
  return description;
}

// What has come in of one request.
struct Ensemble::Gathering {
  std::vector<MemberAnswer> members;
  std::atomic<std::size_t> left;
  Done done;
  Clock::time_point arrived;
  std::int64_t rows = 0;
};

Ensemble::Ensemble(EnsembleOptions options, Lookup lookup)
    : options_(std::move(options)),
      lookup_(std::move(lookup)),
      description_(common_description(options_.name, options_.members, lookup_)) {
  description_.platform = "ensemble";
  description_.method = name_of(options_.method);
  description_.policy = name_of(options_.policy);
}

void Ensemble::submit(Request request, Done done) {
  auto gathering = std::make_shared<Gathering>();
  gathering->members.resize(options_.members.size());
  gathering->left = options_.members.size();
  gathering->done = std::move(done);
  gathering->arrived = Clock::now();
  gathering->rows = request.images.size(0);
  if (options_.member_timeout.count() > 0)
    request.deadline = std::min(request.deadline, gathering->arrived + options_.member_timeout);
  for (std::size_t member = 0; member < options_.members.size(); ++member) ask(member, request, gathering);
}

void Ensemble::ask(std::size_t member, const Request& request, const std::shared_ptr<Gathering>& gathering) {
  const std::string& name = options_.members[member].name;
  const auto answered = [this, member, name, gathering](Answer answer) {
    MemberAnswer& said = gathering->members[member];
    said = {.model = name,
            .version = std::move(answer.version),
            .outcome = answer.outcome,
            .message = std::move(answer.message),
            .probabilities = std::move(answer.probabilities),
            .timing = answer.timing};
    if (said.outcome == Outcome::ok && !ops::all_finite(said.probabilities))
      said = {.model = name,
              .version = said.version,
              .outcome = Outcome::failed,
              .message = "its scores are not finite",
              .probabilities = {},
              .timing = said.timing};
    if (gathering->left.fetch_sub(1, std::memory_order_acq_rel) == 1) conclude(*gathering);
  };
  const std::shared_ptr<Servable> servable = lookup_(name);
  if (servable == nullptr) return answered({.outcome = Outcome::unavailable, .message = "it is not loaded"});
  if (!alike(servable->description(), description_))
    return answered({.outcome = Outcome::failed, .message = "it takes other images now"});
  servable->submit(request, answered);
}

void Ensemble::conclude(Gathering& gathering) {
  std::vector<Tensor> answers;
  std::vector<double> weights;
  Answer answer{.model = options_.name, .version = description_.version};
  const MemberAnswer* missing = nullptr;
  for (std::size_t i = 0; i < gathering.members.size(); ++i) {
    const MemberAnswer& member = gathering.members[i];
    if (member.outcome != Outcome::ok) {
      missing = missing == nullptr ? &member : missing;
      continue;
    }
    answers.push_back(member.probabilities);
    weights.push_back(options_.members[i].weight);
    answer.timing.queue = std::max(answer.timing.queue, member.timing.queue);
    answer.timing.compute += member.timing.compute;
  }
  if (enough(options_.policy, answers.size(), gathering.members.size())) {
    Aggregate result = aggregate(options_.method, answers, weights);
    answer.probabilities = std::move(result.probabilities);
    answer.agreement = std::move(result.agreement);
  } else {
    answer.outcome = missing->outcome;
    answer.message = fmt::format("{} of {} models answered, and '{}' asks for {}: '{}' did not: {}", answers.size(),
                                 gathering.members.size(), options_.name, name_of(options_.policy), missing->model,
                                 missing->message);
  }
  answer.timing.batch_rows = gathering.rows;
  answer.members = std::move(gathering.members);
  if (answer.outcome == Outcome::ok) counters_.batches.fetch_add(1, std::memory_order_relaxed);
  count(answer, gathering.rows, gathering.arrived);
  gathering.done(std::move(answer));
}

}  // namespace lockring::app::serve
