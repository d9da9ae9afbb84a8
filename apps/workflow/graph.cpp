#include "apps/workflow/graph.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <map>
#include <set>

namespace lockring::app::workflow {
namespace {

const std::vector<std::string> kStepWords = {"name", "seed", "ranks", "replicas", "slots", "attempt", "port"};
const std::vector<std::string> kRunWords = {"id", "status", "program"};

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

class Checker {
 public:
  explicit Checker(const Workflow& workflow) : workflow_(workflow), steps_(names_of(workflow.steps)) {
    for (std::size_t i = 0; i < steps_.size(); ++i) index_[steps_[i]] = static_cast<int>(i);
    for (const auto& [name, value] : workflow.parameters) parameters_.push_back(name);
  }

  void check() {
    for (const StepSpec& step : workflow_.steps) check_step(step, false);
    if (workflow_.on_exit) check_step(*workflow_.on_exit, true);
    check_places();
    check_cycles();
  }

 private:
  [[noreturn]] void fail(Place place, const std::string& message) const { fail_at(workflow_.file, place, message); }

  void check_step(const StepSpec& step, bool is_exit) const {
    if (is_exit && (step.server || step.async || !step.needs.empty() || step.memoize.on))
      fail(step.place, "on_exit runs once, at the end: it takes no needs, server, async or memoize");
    if (step.memoize.on && step.server) fail(step.place, fmt::format("step {}: a server is not memoized", step.name));
    if (step.memoize.on && step.outputs.empty())
      fail(step.place, fmt::format("step {}: memoize needs outputs, which are what is kept", step.name));
    for (const Need& need : step.needs) find_step(need.step, need.place, step);
    for_each_reference(step, [&](const Reference& reference, Place place) {
      if (is_exit && reference.kind == Reference::Kind::step_output)
        fail(place, fmt::format("{}: on_exit also runs where no step has made anything", reference.text()));
      check_reference(step, reference, place);
    });
    for (const InputSpec& input : step.inputs) check_input(input);
    for (const std::string& ignored : step.memoize.ignore) check_ignored(step, ignored);
  }

  void check_input(const InputSpec& input) const {
    for (const Template& text : input.values)
      for (const TemplatePart& part : text.parts)
        if (part.is_reference && part.reference.kind != Reference::Kind::parameter &&
            part.reference.kind != Reference::Kind::step_output)
          fail(text.place,
               fmt::format("{}: an input is made of parameters and outputs of other steps", part.reference.text()));
  }

  void check_ignored(const StepSpec& step, const std::string& name) const {
    std::vector<std::string> names = names_of(step.inputs);
    std::ranges::copy(names_of(step.with), std::back_inserter(names));
    for (const auto& [variable, value] : step.env) names.push_back(variable);
    if (std::ranges::find(names, name) == names.end())
      fail(step.place, fmt::format("step {}: ignore names '{}', which is no input, option or variable of it{}",
                                   step.name, printable(name), did_you_mean(name, names)));
  }

  int find_step(const std::string& name, Place place, const StepSpec& from) const {
    const auto found = index_.find(name);
    if (found == index_.end())
      fail(place, fmt::format("there is no step '{}'{}", printable(name), did_you_mean(name, steps_)));
    if (name == from.name) fail(place, fmt::format("step {} waits for itself", name));
    return found->second;
  }

  void check_reference(const StepSpec& step, const Reference& reference, Place place) const {
    switch (reference.kind) {
      case Reference::Kind::parameter:
        return expect(reference, place, "parameter", parameters_);
      case Reference::Kind::input:
        return expect(reference, place, "input", names_of(step.inputs));
      case Reference::Kind::output:
        return expect(reference, place, "output", names_of(step.outputs));
      case Reference::Kind::step:
        return expect(reference, place, "word of a step", kStepWords);
      case Reference::Kind::run:
        return expect(reference, place, "word of a run", kRunWords);
      case Reference::Kind::step_output:
        const int other = find_step(reference.step, place, step);
        return expect(reference, place, "output of step " + reference.step,
                      names_of(workflow_.steps[static_cast<std::size_t>(other)].outputs));
    }
  }

  void expect(const Reference& reference, Place place, const std::string& what,
              const std::vector<std::string>& names) const {
    if (std::ranges::find(names, reference.name) != names.end()) return;
    const std::string guess = did_you_mean(reference.name, names);
    fail(place, fmt::format("{}: there is no {} '{}'{}", reference.text(), what, reference.name,
                            !guess.empty()  ? guess
                            : names.empty() ? "; there is none"
                                            : "; there are " + joined(names)));
  }

  // Two steps that write one place would take turns at destroying each other's outputs.
  void check_places() const {
    std::map<std::string, std::string> writers;
    for (const StepSpec& step : workflow_.steps) {
      std::set<std::string> file_names;
      for (const OutputSpec& output : step.outputs) {
        if (output.path.empty()) {
          if (!file_names.insert(output.file_name).second)
            fail(output.place, fmt::format("two outputs of step {} are named '{}'", step.name, output.file_name));
          continue;
        }
        const auto [other, is_new] = writers.emplace(output.path, step.name);
        if (!is_new)
          fail(output.place,
               fmt::format("steps {} and {} both write {}", other->second, step.name, printable(output.path)));
      }
    }
  }

  // Depth first, without recursion: a chain may be long.
  void check_cycles() const {
    const Graph graph = make_graph(workflow_);
    enum class Mark { unseen, open, done };
    std::vector<Mark> marks(workflow_.steps.size(), Mark::unseen);
    for (std::size_t root = 0; root < marks.size(); ++root) {
      if (marks[root] != Mark::unseen) continue;
      std::vector<std::pair<int, std::size_t>> path = {{static_cast<int>(root), 0}};
      marks[root] = Mark::open;
      while (!path.empty()) {
        auto& [step, next] = path.back();
        const std::vector<int>& before = graph.before[static_cast<std::size_t>(step)];
        if (next == before.size()) {
          marks[static_cast<std::size_t>(step)] = Mark::done;
          path.pop_back();
          continue;
        }
        const int other = before[next++];
        Mark& mark = marks[static_cast<std::size_t>(other)];
        if (mark == Mark::open) fail_cycle(path, other);
        if (mark == Mark::unseen) {
          mark = Mark::open;
          path.emplace_back(other, 0);
        }
      }
    }
  }

  [[noreturn]] void fail_cycle(const std::vector<std::pair<int, std::size_t>>& path, int first) const {
    std::vector<std::string> names;
    const auto begin = std::ranges::find(path, first, &std::pair<int, std::size_t>::first);
    for (auto at = begin; at != path.end(); ++at) names.push_back(steps_[static_cast<std::size_t>(at->first)]);
    names.push_back(steps_[static_cast<std::size_t>(first)]);
    fail(workflow_.steps[static_cast<std::size_t>(first)].place,
         fmt::format("steps wait for each other: {}", joined(names, " after ")));
  }

  const Workflow& workflow_;
  std::vector<std::string> steps_;
  std::vector<std::string> parameters_;
  std::map<std::string, int> index_;
};

}  // namespace

void for_each_reference(const StepSpec& step, const std::function<void(const Reference&, Place)>& f) {
  const auto visit = [&](const Template& text) {
    for (const TemplatePart& part : text.parts)
      if (part.is_reference) f(part.reference, text.place);
  };
  std::ranges::for_each(step.words, visit);
  visit(step.script);
  for (const OptionSpec& option : step.with) std::ranges::for_each(option.values, visit);
  for (const InputSpec& input : step.inputs) std::ranges::for_each(input.values, visit);
  for (const auto& [name, value] : step.env) visit(value);
  if (step.when)
    for (const Reference& reference : step.when->references()) f(reference, step.when->place());
  if (step.server) {
    visit(step.server->ready);
    std::ranges::for_each(step.server->update, visit);
  }
}

std::vector<int> Graph::reachable(int step) const {
  std::vector<int> found = {step};
  std::set<int> seen = {step};
  for (std::size_t at = 0; at < found.size(); ++at)
    for (const int next : after[static_cast<std::size_t>(found[at])])
      if (seen.insert(next).second) found.push_back(next);
  return found;
}

Graph make_graph(const Workflow& workflow) {
  std::map<std::string, int> index;
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) index[workflow.steps[i].name] = static_cast<int>(i);
  Graph graph{.before = std::vector<std::vector<int>>(workflow.steps.size()),
              .after = std::vector<std::vector<int>>(workflow.steps.size())};
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) {
    std::set<int> before;
    for (const Need& need : workflow.steps[i].needs) before.insert(index.at(need.step));
    for_each_reference(workflow.steps[i], [&](const Reference& reference, Place) {
      if (reference.kind == Reference::Kind::step_output) before.insert(index.at(reference.step));
    });
    graph.before[i].assign(before.begin(), before.end());
    for (const int other : before) graph.after[static_cast<std::size_t>(other)].push_back(static_cast<int>(i));
  }
  return graph;
}

void check_workflow(const Workflow& workflow) { Checker(workflow).check(); }

}  // namespace lockring::app::workflow
