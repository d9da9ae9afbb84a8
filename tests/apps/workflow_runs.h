// Whole runs of small workflows, for tests.
#pragma once

#include "apps/workflow/engine.h"
#include "core/files.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace lockring::app::workflow {

// Notes every state that a step comes to.
class Notes final : public Observer {
 public:
  explicit Notes(const Workflow& workflow) : workflow_(workflow) {}
  void changed(int step, const StepStatus& status, int) override {
    const std::string& name = workflow_.steps[static_cast<std::size_t>(step)].name;
    events.push_back(name + " " + std::string(name_of(status.state)));
    messages[name] = status.message;
    if (status.state == StepState::running) most_at_once = std::max(most_at_once, ++running_);
    if (is_final(status.state) || status.state == StepState::waiting) running_ = std::max(running_ - 1, 0);
  }
  void warn(const std::string& message) override { warnings.push_back(message); }

  std::vector<std::string> events;
  std::map<std::string, std::string> messages;
  std::vector<std::string> warnings;
  int most_at_once = 0;

 private:
  const Workflow& workflow_;
  int running_ = 0;
};

struct Ran {
  StepState end;
  std::vector<std::string> events;
  std::map<std::string, std::string> messages;
  std::map<std::string, StepStatus> steps;
  int most_at_once = 0;

  bool saw(const std::string& event) const { return std::ranges::find(events, event) != events.end(); }
  StepState of(const std::string& step) const { return steps.at(step).state; }
};

// Steps append to the file `log` what they did; ${dir} is a folder of the test's own.
class WorkflowRuns : public testing::Test {
 protected:
  Ran run(const std::string& steps) {
    const std::string text = "name: w\nparameters: {dir: }\n" + steps;
    const Workflow workflow = parse_workflow(text, "w.yaml", {{"dir", directory_.path().string()}});
    std::unique_ptr<RunFolder> folder;
    if (resume_) folder = RunFolder::find_unfinished(state_, workflow);
    if (!folder) folder = RunFolder::make(state_, workflow);
    Notes notes(workflow);
    EngineOptions options = options_;
    options.now = [this] {
      return clock_ != 0 ? clock_
                         : std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    };
    Engine engine(workflow, *folder, state_, options, notes);
    Ran ran{.end = engine.run(),
            .events = notes.events,
            .messages = notes.messages,
            .steps = {},
            .most_at_once = notes.most_at_once};
    for (int i = 0; i < engine.board().size(); ++i)
      ran.steps[workflow.steps[static_cast<std::size_t>(i)].name] = engine.board().status(i);
    id_ = folder->facts().id;
    return ran;
  }
  std::string log() const { return std::filesystem::exists(directory_ / "log") ? read_file(directory_ / "log") : ""; }
  std::string value(const Ran& ran, const std::string& step) const { return ran.steps.at(step).outputs.at(0).value; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name) << text; }

  const TemporaryDirectory directory_;
  StateFolder state_{directory_ / "state"};
  EngineOptions options_ = [] {
    EngineOptions options;
    options.slots = 2;
    options.grace = std::chrono::milliseconds(2000);
    return options;
  }();
  double clock_ = 0;  // 0: the system's
  bool resume_ = true;
  std::string id_;
};

}  // namespace lockring::app::workflow
