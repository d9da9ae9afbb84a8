// Who may run when.
#include "apps/workflow/board.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace lockring::app::workflow {
namespace {

using Next = Board::Next;

class WorkflowBoard : public testing::Test {
 protected:
  void load(const std::string& text) {
    workflow_ = parse_workflow(text, "w.yaml");
    board_ = std::make_unique<Board>(workflow_);
  }
  Next next(const std::string& step) const { return board_->next(workflow_.find(step)); }
  void start(const std::string& step) {
    board_->start(workflow_.find(step));
    set(step, StepState::running);
  }
  void set(const std::string& step, StepState state) { board_->set_state(workflow_.find(step), state); }
  // Every output with this value.
  void make(const std::string& step, const std::string& value) {
    std::vector<OutputRecord> outputs;
    for (const OutputSpec& output : workflow_.steps[static_cast<std::size_t>(workflow_.find(step))].outputs)
      outputs.push_back({.name = output.name,
                         .kind = OutputKind::value,
                         .location = {},
                         .value = value,
                         .digest = value,
                         .identity = value});
    board_->add_outputs(workflow_.find(step), outputs);
  }
  void succeed(const std::string& step) {
    make(step, step);
    set(step, StepState::succeeded);
  }
  bool goes_on(const std::string& step) const { return board_->goes_on(workflow_.find(step)); }

  Workflow workflow_;
  std::unique_ptr<Board> board_;
};

TEST_F(WorkflowBoard, AStepWaitsForAllThatItNeeds) {
  load("steps:\n  a: {run: x, outputs: {o: value}}\n  b: {run: x}\n  c: {run: \"x ${steps.a.o}\", needs: b}\n");
  EXPECT_EQ(next("a"), Next::run);
  EXPECT_EQ(next("c"), Next::wait);
  start("a");
  EXPECT_EQ(next("a"), Next::wait) << "it is at work";
  succeed("a");
  EXPECT_EQ(next("c"), Next::wait);
  succeed("b");
  EXPECT_EQ(next("c"), Next::run);
  EXPECT_EQ(board_->find("a", "o")->value, "a");
  EXPECT_EQ(board_->find("a", "p"), nullptr);
  EXPECT_EQ(board_->find("c", "o"), nullptr);
}

TEST_F(WorkflowBoard, AfterAFailureWhatNeedsItIsOmitted) {
  load("steps:\n  a: {run: x}\n  b: {run: x, needs: a}\n  c: {run: x, needs: b}\n  d: {run: x}\n");
  set("a", StepState::failed);
  EXPECT_EQ(next("b"), Next::omit);
  EXPECT_EQ(board_->obstacle(1), "a was failed");
  set("b", StepState::omitted);
  EXPECT_EQ(next("c"), Next::omit);
  EXPECT_EQ(next("d"), Next::run);
}

TEST_F(WorkflowBoard, ASkippedStepIsMissedOnlyByThoseThatTakeItsOutputs) {
  load(
      "steps:\n  a: {run: x, outputs: {o: value}, when: \"1 == 2\"}\n  after: {run: x, needs: a}\n"
      "  takes: {run: \"x ${steps.a.o}\"}\n  other: {run: x, outputs: {o: value}}\n"
      "  list: {run: x, inputs: {all: [\"${steps.a.o}\", \"${steps.other.o}\"]}}\n"
      "  only: {run: x, inputs: {all: [\"${steps.a.o}\"]}}\n");
  set("a", StepState::skipped);
  EXPECT_EQ(next("after"), Next::run);
  EXPECT_EQ(next("takes"), Next::omit);
  EXPECT_EQ(next("only"), Next::omit) << "nothing of its list";
  EXPECT_EQ(next("list"), Next::wait);
  succeed("other");
  EXPECT_EQ(next("list"), Next::run);
}

// Three candidates of different length, a selection of those that are there, a server, and a last step.
constexpr char kAsync[] = R"(
steps:
  one: {run: x, outputs: {o: value}}
  two: {run: x, outputs: {o: value}}
  select:
    run: x
    async: true
    inputs: {all: ["${steps.one.o}", "${steps.two.o}"]}
    outputs: {best: value}
  serve:
    run: x ${steps.select.best}
    async: true
    server: {update: y}
  ask: {run: x, needs: serve}
  tell: {run: "x ${steps.select.best}"}
)";

TEST_F(WorkflowBoard, AnAsyncStepTakesWhatIsThereAndRunsAgainForMore) {
  load(kAsync);
  EXPECT_EQ(next("select"), Next::wait);
  succeed("two");
  EXPECT_EQ(next("select"), Next::run);
  start("select");
  succeed("one");
  EXPECT_EQ(next("select"), Next::wait) << "it is at work";
  make("select", "round 1");
  EXPECT_TRUE(goes_on("select"));
  set("select", StepState::waiting);
  EXPECT_EQ(next("select"), Next::run) << "one has come meanwhile";
  EXPECT_EQ(next("serve"), Next::run) << "it is async, too";
  EXPECT_EQ(next("tell"), Next::wait) << "for the last round";
  start("select");
  make("select", "round 2");
  EXPECT_FALSE(goes_on("select"));
  set("select", StepState::succeeded);
  EXPECT_EQ(next("tell"), Next::run);
}

TEST_F(WorkflowBoard, AServerIsToldOfWhatHasCome) {
  load(kAsync);
  succeed("one");
  start("select");
  make("select", "round 1");
  set("select", StepState::waiting);
  start("serve");
  make("serve", "");
  set("serve", StepState::ready);
  EXPECT_EQ(next("serve"), Next::wait);
  EXPECT_EQ(next("ask"), Next::wait) << "more will come";
  succeed("two");
  start("select");
  make("select", "round 2");
  set("select", StepState::succeeded);
  EXPECT_EQ(next("serve"), Next::update);
  EXPECT_EQ(next("ask"), Next::wait);
  start("serve");
  make("serve", "");
  set("serve", StepState::ready);
  EXPECT_EQ(next("ask"), Next::run);
  EXPECT_EQ(next("serve"), Next::wait);
}

TEST_F(WorkflowBoard, AnAsyncStepDoesWithoutACandidateThatFailed) {
  load(kAsync);
  succeed("one");
  start("select");
  make("select", "round 1");
  set("select", StepState::waiting);
  EXPECT_EQ(next("select"), Next::wait);
  set("two", StepState::failed);
  EXPECT_EQ(next("select"), Next::end) << "there will be no more";
}

TEST_F(WorkflowBoard, WithoutAnyCandidateItIsOmitted) {
  load(kAsync);
  set("one", StepState::failed);
  EXPECT_EQ(next("select"), Next::wait);
  set("two", StepState::skipped);
  EXPECT_EQ(next("select"), Next::omit);
  EXPECT_EQ(board_->obstacle(workflow_.find("select")), "of a list of inputs nothing has come");
}

}  // namespace
}  // namespace lockring::app::workflow
