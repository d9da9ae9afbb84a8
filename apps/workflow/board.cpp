#include "apps/workflow/board.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lockring::app::workflow {
namespace {

// The step that a member of a list refers to; -1 for a path.
int step_of(const Workflow& workflow, const Template& text) {
  for (const TemplatePart& part : text.parts)
    if (part.is_reference && part.reference.kind == Reference::Kind::step_output)
      return workflow.find(part.reference.step);
  return -1;
}

bool has_failed(StepState state) {
  return state == StepState::failed || state == StepState::errored || state == StepState::omitted ||
         state == StepState::stopped;
}

}  // namespace

Board::Board(const Workflow& workflow)
    : workflow_(workflow),
      graph_(make_graph(workflow)),
      steps_(workflow.steps.size()),
      links_(steps_.size()),
      lists_(steps_.size()),
      taken_(steps_.size()) {
  std::map<std::string, int> index;
  for (std::size_t i = 0; i < steps_.size(); ++i) index[workflow.steps[i].name] = static_cast<int>(i);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const StepSpec& step = workflow.steps[i];
    std::multiset<int> in_lists;
    for (const InputSpec& input : step.inputs) {
      if (!input.is_list) continue;
      List& list = lists_[i].emplace_back();
      for (const Template& text : input.values) list.members.push_back(step_of(workflow, text));
      in_lists.insert(list.members.begin(), list.members.end());
    }
    std::map<int, Link> links;
    for (const Need& need : step.needs) links[index.at(need.step)].ordered = true;
    std::map<int, std::size_t> references;
    for_each_reference(step, [&](const Reference& reference, Place) {
      if (reference.kind == Reference::Kind::step_output) ++references[index.at(reference.step)];
    });
    for (const auto& [before, count] : references) links[before].single = count > in_lists.count(before);
    for (auto& [before, link] : links) {
      link.step = before;
      links_[i].push_back(link);
    }
    taken_[i].resize(links_[i].size());
  }
}

// A server that answers is as far as it goes.
bool Board::is_settled(int step) const {
  const StepState state = status(step).state;
  return is_final(state) || (state == StepState::ready && !goes_on(step));
}

bool Board::all_settled(int step) const {
  return std::ranges::all_of(links_[static_cast<std::size_t>(step)],
                             [&](const Link& link) { return is_settled(link.step); });
}

bool Board::has_news(int step) const {
  const std::vector<Link>& links = links_[static_cast<std::size_t>(step)];
  for (std::size_t i = 0; i < links.size(); ++i)
    if (status(links[i].step).rounds > taken_[static_cast<std::size_t>(step)][i]) return true;
  return false;
}

bool Board::goes_on(int step) const { return spec(step).async && (has_news(step) || !all_settled(step)); }

bool Board::waits_for(int step, const Link& link) const {
  if (!link.single && !link.ordered) return false;
  const StepStatus& before = status(link.step);
  return spec(step).async && before.rounds > 0 ? false : !is_settled(link.step);
}

bool Board::is_lost(int step, const Link& link) const {
  const StepStatus& before = status(link.step);
  if (spec(step).async && before.rounds > 0 && !has_failed(before.state)) return false;
  if (link.single && before.state == StepState::skipped) return true;
  // A failed member of a list is only done without by a step that takes what there is.
  if (!link.single && !link.ordered && spec(step).async) return false;
  return has_failed(before.state);
}

bool Board::list_is_lost(const List& list) const {
  return !list.members.empty() && std::ranges::all_of(list.members, [&](int member) {
    return member >= 0 && is_final(status(member).state) && status(member).rounds == 0;
  });
}

bool Board::list_waits(int step, const List& list) const {
  const auto is_there = [&](int member) { return member < 0 || status(member).rounds > 0; };
  if (spec(step).async) return !list.members.empty() && std::ranges::none_of(list.members, is_there);
  return std::ranges::any_of(list.members, [&](int member) { return member >= 0 && !is_settled(member); });
}

std::string Board::obstacle(int step) const {
  for (const Link& link : links_[static_cast<std::size_t>(step)])
    if (is_lost(step, link)) return fmt::format("{} was {}", spec(link.step).name, name_of(status(link.step).state));
  return "of a list of inputs nothing has come";
}

Board::Next Board::next(int step) const {
  const StepStatus& self = status(step);
  if (self.state == StepState::ready) return has_news(step) && spec(step).async ? Next::update : Next::wait;
  if (self.state != StepState::waiting) return Next::wait;
  const auto& links = links_[static_cast<std::size_t>(step)];
  const auto& lists = lists_[static_cast<std::size_t>(step)];
  if (std::ranges::any_of(links, [&](const Link& link) { return is_lost(step, link); })) return Next::omit;
  if (std::ranges::any_of(lists, [&](const List& list) { return list_is_lost(list); })) return Next::omit;
  if (std::ranges::any_of(links, [&](const Link& link) { return waits_for(step, link); })) return Next::wait;
  if (std::ranges::any_of(lists, [&](const List& list) { return list_waits(step, list); })) return Next::wait;
  if (self.rounds == 0 || has_news(step)) return Next::run;
  return all_settled(step) ? Next::end : Next::wait;
}

void Board::start(int step) {
  const std::vector<Link>& links = links_[static_cast<std::size_t>(step)];
  for (std::size_t i = 0; i < links.size(); ++i)
    taken_[static_cast<std::size_t>(step)][i] = status(links[i].step).rounds;
}

void Board::set_state(int step, StepState state, std::string message) {
  StepStatus& status = steps_[static_cast<std::size_t>(step)];
  status.state = state;
  status.message = std::move(message);
}

void Board::add_outputs(int step, std::vector<OutputRecord> outputs) {
  StepStatus& status = steps_[static_cast<std::size_t>(step)];
  status.outputs = std::move(outputs);
  ++status.rounds;
}

const OutputRecord* Board::find(const std::string& step, const std::string& output) const {
  const int index = workflow_.find(step);
  if (index < 0 || status(index).rounds == 0) return nullptr;
  const auto& outputs = status(index).outputs;
  const auto found = std::ranges::find(outputs, output, &OutputRecord::name);
  return found == outputs.end() ? nullptr : &*found;
}

}  // namespace lockring::app::workflow
