// Faults that other workflow systems were reported to have: each must not be here.
#include "tests/apps/workflow_runs.h"

#include "apps/workflow/plan.h"

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

class WorkflowFaults : public WorkflowRuns {
 protected:
  // A run that failed or ended goes on, as `lockring workflow retry` does.
  Ran retry(const std::string& steps, const std::set<std::string>& again = {}) {
    const std::string text = "name: w\nparameters: {dir: }\n" + steps;
    const Workflow workflow = parse_workflow(text, "w.yaml", {{"dir", directory_.path().string()}});
    const std::unique_ptr<RunFolder> folder = RunFolder::open(state_, id_);
    Notes notes(workflow);
    EngineOptions options = options_;
    options.again = options.refresh = again;
    options.now = [] {
      return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    };
    Engine engine(workflow, *folder, state_, options, notes);
    Ran ran{.end = engine.run(), .events = notes.events, .messages = notes.messages, .steps = {}, .most_at_once = 0};
    for (int i = 0; i < engine.board().size(); ++i)
      ran.steps[workflow.steps[static_cast<std::size_t>(i)].name] = engine.board().status(i);
    return ran;
  }
  std::string reason(const std::string& steps, const std::string& step) {
    const std::string text = "name: w\nparameters: {dir: }\n" + steps;
    const Workflow workflow = parse_workflow(text, "w.yaml", {{"dir", directory_.path().string()}});
    EngineOptions options = options_;
    options.now = [this] { return clock_; };
    for (const PlannedStep& planned : make_plan(workflow, Cache(state_), nullptr, options))
      if (planned.step == step) return planned.verdict + " " + planned.reason;
    return "";
  }
};

// A hit although the output, or the volume with it, was deleted.
TEST_F(WorkflowFaults, AHitWithoutItsOutputsIsNone) {
  const std::string chain = R"(
steps:
  data: {run: "echo data >> ${dir}/log; echo 1 > ${outputs.o}", outputs: {o: file}, memoize: true}
  model: {run: "echo model >> ${dir}/log; mkdir ${outputs.o}; cp ${steps.data.o} ${outputs.o}/m", outputs: {o: dir}, memoize: true}
  report: {run: "echo report >> ${dir}/log; cat ${steps.model.o}/m > ${outputs.o}", outputs: {o: file}, memoize: true}
)";
  Ran ran = run(chain);
  ASSERT_EQ(ran.end, StepState::succeeded);
  fs::remove(fs::path(ran.steps.at("model").outputs[0].location) / "m");
  ran = run(chain);
  EXPECT_EQ(log(), "data\nmodel\nreport\nmodel\n") << "that step alone runs again";
  EXPECT_EQ(ran.of("report"), StepState::cached);
  fs::remove_all(state_.outputs());
  ran = run(chain);
  EXPECT_EQ(ran.end, StepState::succeeded);
  EXPECT_EQ(log(), "data\nmodel\nreport\nmodel\ndata\nmodel\nreport\n");
}

// A hit although the code has changed: a new version of the step, of its program, of its text.
TEST_F(WorkflowFaults, NewCodeIsAMiss) {
  write("program", "#!/bin/sh\necho one > $1\n");
  fs::permissions(directory_ / "program", fs::perms::owner_all);
  const auto step = [](const std::string& version) {
    return "steps:\n  a: {run: [\"${dir}/program\", \"${outputs.o}\"], outputs: {o: value}, memoize: true, version: " +
           version + "}\n";
  };
  EXPECT_EQ(value(run(step("1")), "a"), "one");
  EXPECT_EQ(run(step("1")).of("a"), StepState::cached);
  EXPECT_EQ(reason(step("2"), "a"), "MISS version: 1 then, 2 now");
  EXPECT_EQ(run(step("2")).of("a"), StepState::succeeded);
  EXPECT_EQ(run(step("1")).of("a"), StepState::cached) << "and what the old one made is still known";
  write("program", "#!/bin/sh\necho two > $1\n");
  EXPECT_TRUE(reason(step("2"), "a").starts_with("MISS program has changed"));
  EXPECT_EQ(value(run(step("1")), "a"), "two");
}

// What is known is lost in a retry; what a retry repairs stays failed; what follows a changed step is not run again.
TEST_F(WorkflowFaults, ARetryKeepsWhatIsDoneAndRunsWhatChanges) {
  const std::string text = R"(
steps:
  a: {run: "echo a >> ${dir}/log; cat ${dir}/x > ${outputs.o}", outputs: {o: file}}
  b: {run: "echo b >> ${dir}/log; test -e ${dir}/go && cat ${steps.a.o} > ${outputs.o}", outputs: {o: file}}
  c: {run: "echo c >> ${dir}/log; cat ${steps.b.o} > ${outputs.o}", outputs: {o: value}}
  d: {run: "echo d >> ${dir}/log; wc -c < ${steps.a.o} > ${outputs.o}", outputs: {o: value}}
)";
  options_.keep_going = true;
  options_.slots = 1;
  write("x", "1\n");
  EXPECT_EQ(run(text).end, StepState::failed);
  EXPECT_EQ(log(), "a\nb\nd\n");
  write("go", "");
  Ran ran = retry(text);
  EXPECT_EQ(ran.end, StepState::succeeded) << "a run that a retry has repaired is no failed one";
  EXPECT_EQ(log(), "a\nb\nd\nb\nc\n") << "b and what follows it";
  EXPECT_EQ(read_run(state_, id_).state, "succeeded");
  // A step that runs again and makes the same: nothing follows. One that makes something else: all that takes it.
  ran = retry(text, {"a"});
  EXPECT_EQ(log(), "a\nb\nd\nb\nc\na\n");
  write("x", "2\n");
  ran = retry(text, {"a"});
  EXPECT_EQ(ran.end, StepState::succeeded);
  EXPECT_EQ(value(ran, "c"), "2");
  EXPECT_EQ(log(), "a\nb\nd\nb\nc\na\na\nb\nc\nd\n");
}

// Freshness by clocks: skewed, in the future, in another time zone.
TEST_F(WorkflowFaults, AnEntryFromTheFutureIsAMissWithItsReason) {
  const std::string text =
      "steps:\n  a: {run: \"echo a >> ${dir}/log; echo 1 > ${outputs.o}\", outputs: {o: value}, memoize: {max_age: "
      "1s}}\n";
  clock_ = 2e9 + 3600;
  run(text);
  clock_ = 2e9;
  EXPECT_EQ(reason(text, "a"), "MISS its entry is dated 1 h 00 min in the future");
  EXPECT_EQ(run(text).of("a"), StepState::succeeded);
  clock_ = 2e9 + 1;
  EXPECT_EQ(run(text).of("a"), StepState::cached);
  clock_ = 2e9 + 2;
  EXPECT_EQ(reason(text, "a"), "MISS its entry is 2.0 s old, and may be 1.0 s");
  EXPECT_EQ(run(text).of("a"), StepState::succeeded);
  EXPECT_EQ(log(), "a\na\na\n");
}

// Times of files do not count, their content does.
TEST_F(WorkflowFaults, TouchedFilesAreNotChangedOnes) {
  write("x", "1");
  const std::string text =
      "steps:\n  a: {run: \"echo a >> ${dir}/log; cat ${inputs.x} > ${outputs.o}\", inputs: {x: \"${dir}/x\"}, "
      "outputs: "
      "{o: file}, memoize: true}\n";
  run(text);
  fs::last_write_time(directory_ / "x", fs::file_time_type::clock::now() + std::chrono::hours(48));
  EXPECT_EQ(run(text).of("a"), StepState::cached);
  const fs::file_time_type then = fs::last_write_time(directory_ / "x");
  write("x", "2");
  fs::last_write_time(directory_ / "x", then);
  EXPECT_EQ(run(text).of("a"), StepState::succeeded) << "as old and as long, and yet another";
}

}  // namespace
}  // namespace lockring::app::workflow
