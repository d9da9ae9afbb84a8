#include "apps/workflow/plan.h"

#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace lockring::app::workflow {
namespace {

class Planner {
 public:
  Planner(const Workflow& workflow, const Cache& cache, const RunStory* unfinished, const EngineOptions& options)
      : workflow_(workflow), cache_(cache), unfinished_(unfinished), options_(options), graph_(make_graph(workflow)) {}

  std::vector<PlannedStep> make() {
    std::vector<PlannedStep> plan(workflow_.steps.size());
    for (const int step : order())
      plan[static_cast<std::size_t>(step)] = plan_step(workflow_.steps[static_cast<std::size_t>(step)]);
    return plan;
  }

 private:
  // Each step after those that it waits for.
  std::vector<int> order() const {
    std::vector<int> order;
    std::vector<std::size_t> open(workflow_.steps.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i] = graph_.before[i].size();
      if (open[i] == 0) order.push_back(static_cast<int>(i));
    }
    for (std::size_t at = 0; at < order.size(); ++at)
      for (const int next : graph_.after[static_cast<std::size_t>(order[at])])
        if (--open[static_cast<std::size_t>(next)] == 0) order.push_back(next);
    return order;
  }

  PlannedStep plan_step(const StepSpec& step) {
    PlannedStep planned{.step = step.name, .verdict = step.memoize.on ? "MISS" : "RUN", .reason = {}, .key = {}};
    if (const std::string unknown = unknown_input(step); !unknown.empty()) {
      planned.reason = "its input " + unknown + " is made anew";
      return planned;
    }
    const AttemptFacts facts{.outputs = {}, .run_id = {}, .run_status = {}, .program = {}};
    const Resolver resolver = make_resolver(workflow_, step, find_, facts);
    if (step.when && !step.when->holds(resolver)) {
      planned.verdict = "SKIP";
      planned.reason = step.when->text();
      return planned;
    }
    const StepKey key = key_of(workflow_, step, find_);
    planned.key = key.digest;
    if (is_done(step, key)) {
      planned.verdict = "DONE";
      planned.reason = "in " + unfinished_->facts.id + ", which would go on";
      return planned;
    }
    look_up(step, key, planned);
    return planned;
  }

  void look_up(const StepSpec& step, const StepKey& key, PlannedStep& planned) {
    if (!step.memoize.on) {
      planned.reason = step.server ? "a server" : "it is not memoized";
      return;
    }
    if (options_.no_cache || options_.refresh.contains(step.name)) {
      planned.reason = "asked to";
      return;
    }
    Cache::Answer answer = cache_.find(workflow_.name, step, key, static_cast<std::int64_t>(options_.now()));
    planned.reason = answer.reason;
    if (!answer.hit) return;
    planned.verdict = "HIT";
    const double age = options_.now() - static_cast<double>(answer.hit->updated);
    planned.reason = "made " + duration_text(std::max(age, 0.0)) + " ago";
    known_[step.name] = std::move(answer.hit->outputs);
  }

  bool is_done(const StepSpec& step, const StepKey& key) {
    const StepStory* before = unfinished_ == nullptr ? nullptr : unfinished_->find(step.name);
    if (before == nullptr || step.server || options_.again.contains(step.name)) return false;
    if (before->state != StepState::succeeded && before->state != StepState::cached) return false;
    if (before->key != key.digest || !find_change(step, before->outputs).empty()) return false;
    known_[step.name] = before->outputs;
    return true;
  }

  // An output that this step takes and that is not known yet.
  std::string unknown_input(const StepSpec& step) const {
    std::string unknown;
    for_each_reference(step, [&](const Reference& reference, Place) {
      if (reference.kind == Reference::Kind::step_output && !known_.contains(reference.step))
        unknown = reference.step + "." + reference.name;
    });
    return unknown;
  }

  const OutputRecord* find(const std::string& step, const std::string& output) const {
    const auto known = known_.find(step);
    if (known == known_.end()) return nullptr;
    const auto found = std::ranges::find(known->second, output, &OutputRecord::name);
    return found == known->second.end() ? nullptr : &*found;
  }

  const Workflow& workflow_;
  const Cache& cache_;
  const RunStory* unfinished_;
  const EngineOptions& options_;
  Graph graph_;
  std::map<std::string, std::vector<OutputRecord>> known_;  // by step
  FindOutput find_ = [this](const std::string& step, const std::string& output) { return find(step, output); };
};

}  // namespace

std::vector<PlannedStep> make_plan(const Workflow& workflow, const Cache& cache, const RunStory* unfinished,
                                   const EngineOptions& options) {
  return Planner(workflow, cache, unfinished, options).make();
}

void check_inputs(const Workflow& workflow) {
  for (const StepSpec& step : workflow.steps) {
    for (const InputSpec& input : step.inputs) {
      for (const Template& text : input.values) {
        const auto refers = [](const TemplatePart& part) {
          return part.is_reference && part.reference.kind == Reference::Kind::step_output;
        };
        if (std::ranges::any_of(text.parts, refers)) continue;
        InputSpec one = input;
        one.values = {text};
        const std::string path = input_values(workflow, one, {}).front();
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored))
          fail_at(workflow.file, text.place,
                  fmt::format("step {}: its input {} is not there: {}", step.name, input.name, printable(path)));
      }
    }
  }
}

}  // namespace lockring::app::workflow
