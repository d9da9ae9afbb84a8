// What is not run again because it was made before.
#include "tests/apps/workflow_runs.h"

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

using WorkflowMemoization = WorkflowRuns;

constexpr char kMemoized[] = R"(
steps:
  a:
    run: echo a >> ${dir}/log; cat ${inputs.x} > ${outputs.o}
    inputs: {x: "${dir}/x"}
    outputs: {o: file}
    memoize: {max_age: 100s}
  b:
    run: echo b >> ${dir}/log; wc -c < ${steps.a.o} > ${outputs.n}
    outputs: {n: value}
    memoize: true
)";

TEST_F(WorkflowMemoization, WhatIsUnchangedRunsOnce) {
  write("x", "12345");
  EXPECT_EQ(value(run(kMemoized), "b"), "5");
  const Ran second = run(kMemoized);
  EXPECT_EQ(second.of("a"), StepState::cached);
  EXPECT_EQ(value(second, "b"), "5");
  EXPECT_EQ(log(), "a\nb\n");
  write("x", "123");
  EXPECT_EQ(value(run(kMemoized), "b"), "3");
  EXPECT_EQ(log(), "a\nb\na\nb\n");
  write("x", "12345");
  EXPECT_EQ(value(run(kMemoized), "b"), "5");
  EXPECT_EQ(log(), "a\nb\na\nb\n") << "older results are still there";
}

TEST_F(WorkflowMemoization, ALaterStepRunsOnlyIfItsInputsHaveChanged) {
  const std::string text = R"(
steps:
  a: {run: "echo a >> ${dir}/log; date +%N > ${dir}/now; echo same > ${outputs.o}", outputs: {o: file}}
  b: {run: "echo b >> ${dir}/log; cp ${steps.a.o} ${outputs.o}", outputs: {o: file}, memoize: true}
)";
  run(text);
  run(text);
  EXPECT_EQ(log(), "a\nb\na\n");
}

TEST_F(WorkflowMemoization, OutputsThatAreGoneOrChangedAreMadeAnew) {
  write("x", "1");
  Ran ran = run(kMemoized);
  fs::remove(ran.steps.at("a").outputs[0].location);
  ran = run(kMemoized);
  EXPECT_TRUE(ran.saw("a running"));
  EXPECT_EQ(ran.of("b"), StepState::cached) << "what it takes is what it was";
  std::ofstream(ran.steps.at("a").outputs[0].location) << "tampered";
  ran = run(kMemoized);
  EXPECT_EQ(log(), "a\nb\na\na\n");
  EXPECT_EQ(read_file(ran.steps.at("a").outputs[0].location), "1");
}

TEST_F(WorkflowMemoization, TheClockMayMove) {
  write("x", "1");
  clock_ = 2e9;
  run(kMemoized);
  clock_ = 2e9 + 50;
  EXPECT_EQ(run(kMemoized).of("a"), StepState::cached);
  clock_ = 2e9 + 101;
  EXPECT_EQ(run(kMemoized).of("a"), StepState::succeeded) << "too old";
  clock_ = 2e9;
  EXPECT_EQ(run(kMemoized).of("a"), StepState::succeeded) << "from the future";
}

TEST_F(WorkflowMemoization, ItCanBeToldToRunAnyway) {
  write("x", "1");
  run(kMemoized);
  options_.refresh = {"a"};
  Ran ran = run(kMemoized);
  EXPECT_EQ(ran.of("a"), StepState::succeeded);
  EXPECT_EQ(ran.of("b"), StepState::cached);
  options_.refresh = {};
  options_.no_cache = true;
  ran = run(kMemoized);
  EXPECT_EQ(log(), "a\nb\na\na\nb\n");
}

TEST_F(WorkflowMemoization, FailuresAreNotRemembered) {
  const std::string text =
      "steps:\n  a: {run: \"echo a >> ${dir}/log; test -e ${dir}/x && touch ${outputs.o}\", outputs: {o: file}, "
      "memoize: true}\n";
  EXPECT_EQ(run(text).end, StepState::failed);
  write("x", "");
  EXPECT_EQ(run(text).end, StepState::succeeded);
  EXPECT_EQ(run(text).of("a"), StepState::cached);
  EXPECT_EQ(log(), "a\na\n");
}

TEST_F(WorkflowMemoization, TwoEqualStepsRunOnce) {
  const std::string step =
      "{run: \"echo x >> ${dir}/log; sleep 0.1; echo 1 > ${outputs.o}\", outputs: {o: value}, memoize: true}\n";
  const Ran ran = run("steps:\n  a: " + step + "  b: " + step);
  EXPECT_EQ(log(), "x\n");
  EXPECT_EQ(ran.of("a"), StepState::succeeded);
  EXPECT_EQ(ran.of("b"), StepState::cached);
  EXPECT_TRUE(fs::is_empty(state_.locks()));
}

}  // namespace
}  // namespace lockring::app::workflow
