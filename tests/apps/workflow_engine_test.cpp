// How steps are started, watched and ended.
#include "tests/apps/workflow_runs.h"

#include <thread>

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

using WorkflowEngine = WorkflowRuns;

TEST_F(WorkflowEngine, OutputsGoFromStepToStep) {
  const Ran ran = run(R"(
steps:
  make:
    run: seq 3 > ${outputs.numbers}; mkdir ${outputs.folder}; echo x > ${outputs.folder}/y; echo four > ${outputs.word}
    outputs: {numbers: file, folder: dir, word: value}
  use:
    run: cat ${inputs.all} ${steps.make.folder}/y > ${outputs.text}; echo ${steps.make.word} >> ${outputs.text}
    inputs: {all: ["${steps.make.numbers}", "${dir}/own"]}
    outputs: {text: {path: "${dir}/result.txt"}}
)");
  EXPECT_EQ(ran.end, StepState::failed);
  EXPECT_EQ(ran.of("use"), StepState::errored) << "its own input is not there";
  write("own", "own\n");
  const Ran again = run(R"(
steps:
  make:
    run: seq 3 > ${outputs.numbers}; mkdir ${outputs.folder}; echo x > ${outputs.folder}/y; echo four > ${outputs.word}
    outputs: {numbers: file, folder: dir, word: value}
  use:
    run: cat ${inputs.all} ${steps.make.folder}/y > ${outputs.text}; echo ${steps.make.word} >> ${outputs.text}
    inputs: {all: ["${steps.make.numbers}", "${dir}/own"]}
    outputs: {text: {path: "${dir}/result.txt"}}
)");
  EXPECT_EQ(again.end, StepState::succeeded);
  EXPECT_EQ(read_file(directory_ / "result.txt"), "1\n2\n3\nown\nx\nfour\n");
  EXPECT_TRUE(fs::is_empty(state_.temporary()));
}

TEST_F(WorkflowEngine, AFailureEndsTheRunButNotWhatIsRunning) {
  const Ran ran = run(R"(
steps:
  bad: {run: exit 3}
  slow:
    run: |
      until grep -q 'bad.*failed' ${dir}/state/runs/*/journal.jsonl; do sleep 0.01; done
      echo slow >> ${dir}/log
  after: {run: "echo after >> ${dir}/log", needs: bad}
  later: {run: "echo later >> ${dir}/log", needs: slow}
)");
  EXPECT_EQ(ran.end, StepState::failed);
  EXPECT_EQ(ran.messages.at("bad"), "exit code 3");
  EXPECT_EQ(ran.of("slow"), StepState::succeeded);
  EXPECT_EQ(ran.of("after"), StepState::omitted);
  EXPECT_EQ(ran.of("later"), StepState::omitted) << "nothing new is started";
  EXPECT_EQ(log(), "slow\n");
}

TEST_F(WorkflowEngine, KeepGoingRunsWhatDoesNotDependOnAFailure) {
  options_.keep_going = true;
  const Ran ran = run(R"(
steps:
  bad: {run: "false"}
  after: {run: "true", needs: bad}
  slow: {run: sleep 0.1}
  later: {run: "echo later >> ${dir}/log", needs: slow}
)");
  EXPECT_EQ(ran.end, StepState::failed);
  EXPECT_EQ(ran.of("after"), StepState::omitted);
  EXPECT_EQ(ran.of("later"), StepState::succeeded);
}

TEST_F(WorkflowEngine, ErrorsOfTheEnginesOwnKind) {
  options_.keep_going = true;
  const Ran ran = run(R"(
steps:
  nowhere: {run: [no-such-program]}
  nothing: {run: "true", outputs: {o: file}}
  folder: {run: "mkdir ${outputs.o}", outputs: {o: file}}
  long: {run: "head -c 100000 /dev/zero | tr '\\0' x > ${outputs.o}", outputs: {o: value}}
  order: {run: "true", when: "a < b"}
)");
  EXPECT_EQ(ran.of("nowhere"), StepState::errored);
  EXPECT_EQ(ran.messages.at("nowhere"), "there is no program 'no-such-program' in PATH");
  EXPECT_NE(ran.messages.at("nothing").find("the step did not make its output o"), std::string::npos);
  EXPECT_NE(ran.messages.at("folder").find("output o: expected a file at"), std::string::npos);
  EXPECT_NE(ran.messages.at("long").find("is longer than 65536 bytes"), std::string::npos);
  EXPECT_EQ(ran.of("order"), StepState::errored);
  EXPECT_TRUE(fs::is_empty(state_.temporary())) << "nothing of them is left";
  EXPECT_TRUE(fs::is_empty(state_.outputs()));
}

TEST_F(WorkflowEngine, TriesAgainAfterAPause) {
  const auto before = std::chrono::steady_clock::now();
  const Ran ran = run(R"(
steps:
  a:
    run: echo ${step.attempt} >> ${dir}/log; test ${step.attempt} = 3
    retries: {limit: 3, backoff: 50ms, factor: 2}
)");
  EXPECT_EQ(ran.end, StepState::succeeded);
  EXPECT_EQ(log(), "1\n2\n3\n");
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(150));
  EXPECT_EQ(read_run(state_, id_).find("a")->attempts, 3);
}

TEST_F(WorkflowEngine, GivesUpAfterItsRetries) {
  const Ran ran = run("steps:\n  a: {run: \"echo ${step.attempt} >> ${dir}/log; exit 1\", retries: 2}\n");
  EXPECT_EQ(ran.end, StepState::failed);
  EXPECT_EQ(log(), "1\n2\n3\n");
}

TEST_F(WorkflowEngine, ATimeoutEndsTheWholeGroup) {
  const Ran ran = run(R"(
steps:
  a: {run: "sleep 1000 & echo $! > ${dir}/child; sleep 1000", timeout: 3s}
)");
  EXPECT_EQ(ran.of("a"), StepState::failed);
  EXPECT_EQ(ran.messages.at("a"), "it took longer than 3 s");
  const std::string child = std::to_string(std::stoi(read_file(directory_ / "child")));
  while (fs::exists("/proc/" + child + "/exe")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(WorkflowEngine, ATimeoutIsEnforcedOnThoseThatDoNotListen) {
  options_.grace = std::chrono::milliseconds(100);
  EXPECT_EQ(run("steps:\n  a: {run: \"trap '' TERM; while :; do sleep 0.05; done\", timeout: 100ms}\n").of("a"),
            StepState::failed);
}

TEST_F(WorkflowEngine, NeverUsesMoreCoresThanThereAre) {
  std::string steps = "steps:\n";
  for (int i = 0; i < 6; ++i) steps += fmt::format("  s{}: {{run: sleep 0.02}}\n", i);
  EXPECT_EQ(run(steps).most_at_once, 2);
  steps += "  wide: {run: sleep 0.02, resources: {slots: 2}}\n  wider: {run: sleep 0.02, resources: {ranks: 4}}\n";
  const Ran ran = run(steps);
  EXPECT_EQ(ran.end, StepState::succeeded) << "one that wants more than there are runs alone";
  options_.slots = 1;
  EXPECT_EQ(run(steps).most_at_once, 1);
}

TEST_F(WorkflowEngine, WhenDecides) {
  const Ran ran = run(R"(
steps:
  a: {run: "echo 0.95 > ${outputs.accuracy}", outputs: {accuracy: value}}
  good: {run: "true", when: "${steps.a.accuracy} > 0.9"}
  bad: {run: "true", when: "${steps.a.accuracy} <= 0.9"}
)");
  EXPECT_EQ(ran.of("good"), StepState::succeeded);
  EXPECT_EQ(ran.of("bad"), StepState::skipped);
  EXPECT_EQ(ran.end, StepState::succeeded);
}

TEST_F(WorkflowEngine, TheExitHandlerAlwaysRuns) {
  run("steps:\n  a: {run: \"true\"}\non_exit: {run: \"echo ${run.status} $LOCKRING_WORKFLOW_STATUS >> ${dir}/log\"}\n");
  run("steps:\n  a: {run: \"false\"}\non_exit: {run: \"echo ${run.status} >> ${dir}/log; exit 1\"}\n");
  options_.stop_signal = [] { return SIGTERM; };
  EXPECT_EQ(run("steps:\n  a: {run: sleep 1000}\non_exit: {run: \"echo ${run.status} >> ${dir}/log\"}\n").end,
            StepState::stopped);
  EXPECT_EQ(log(), "succeeded succeeded\nfailed\nstopped\n");
}

TEST_F(WorkflowEngine, AStoppedRunGoesOnWhereItWas) {
  const std::string text = R"(
steps:
  a: {run: "echo a >> ${dir}/log; echo 1 > ${outputs.o}", outputs: {o: value}}
  b: {run: "echo b >> ${dir}/log; test -e ${dir}/go || sleep 1000", needs: a}
)";
  options_.stop_signal = [&] { return log().ends_with("b\n") ? SIGTERM : 0; };
  EXPECT_EQ(run(text).end, StepState::stopped);
  const std::string first = id_;
  options_.stop_signal = {};
  write("go", "");
  const Ran ran = run(text);
  EXPECT_EQ(id_, first);
  EXPECT_EQ(ran.end, StepState::succeeded);
  EXPECT_EQ(log(), "a\nb\nb\n");
  EXPECT_FALSE(ran.saw("a running"));
  run(text);
  EXPECT_NE(id_, first) << "that one has ended well";
}

TEST_F(WorkflowEngine, AnAsyncStepServesWhatIsThereAndBlocksNobody) {
  const Ran ran = run(R"(
steps:
  quick: {run: "echo quick > ${outputs.o}", outputs: {o: file}}
  slow: {run: "until grep -q serve ${dir}/log; do sleep 0.01; done; echo slow > ${outputs.o}", outputs: {o: file}}
  select:
    run: cat ${inputs.all} > ${outputs.best}
    async: true
    inputs: {all: ["${steps.quick.o}", "${steps.slow.o}"]}
    outputs: {best: file}
  serve:
    run: echo serve $(cat ${steps.select.best}) >> ${dir}/log; while :; do sleep 0.1; done
    async: true
    server: {update: [sh, -c, "echo update $(cat ${steps.select.best}) >> ${dir}/log"]}
  ask:
    run: echo ask >> ${dir}/log
    needs: serve
)");
  EXPECT_EQ(ran.end, StepState::succeeded);
  EXPECT_EQ(log(), "serve quick\nupdate quick slow\nask\n");
  EXPECT_EQ(ran.of("serve"), StepState::succeeded);
  EXPECT_EQ(ran.of("select"), StepState::succeeded);
}

TEST_F(WorkflowEngine, WhatHandsOnIsNotKeptWaitingByTheNextLongStep) {
  options_.slots = 1;
  run(R"(
steps:
  one: {run: "echo one >> ${dir}/log; echo 1 > ${outputs.o}", outputs: {o: value}}
  two: {run: "echo two >> ${dir}/log; echo 2 > ${outputs.o}", outputs: {o: value}}
  select:
    run: echo select >> ${dir}/log; touch ${outputs.best}
    async: true
    inputs: {all: ["${steps.one.o}", "${steps.two.o}"]}
    outputs: {best: file}
)");
  EXPECT_EQ(log(), "one\nselect\ntwo\nselect\n");
}

TEST_F(WorkflowEngine, AServerThatEndsIsAFailure) {
  const Ran ran = run(
      "steps:\n  s: {run: exit 0, server: {ready: \"tcp:127.0.0.1:${step.port}\"}}\n  a: {run: \"true\", needs: s}\n");
  EXPECT_EQ(ran.of("s"), StepState::failed);
  EXPECT_EQ(ran.messages.at("s"), "the server ended: exit code 0");
  EXPECT_EQ(ran.of("a"), StepState::omitted);
}

TEST_F(WorkflowEngine, AServerThatIsNeverReadyIsEnded) {
  const Ran ran =
      run("steps:\n  s: {run: sleep 1000, server: {ready: \"tcp:127.0.0.1:${step.port}\", ready_timeout: 100ms}}\n");
  EXPECT_EQ(ran.messages.at("s"), "it was not ready after 0.1 s");
}

TEST_F(WorkflowEngine, AServersOutputsAreThereOnceItHasMadeThem) {
  const Ran ran = run(R"(
steps:
  s: {run: "sleep 0.1; echo here > ${outputs.url}.tmp; mv ${outputs.url}.tmp ${outputs.url}; sleep 1000", server: true, outputs: {url: value}}
  a: {run: "echo ${steps.s.url} >> ${dir}/log"}
)");
  EXPECT_EQ(ran.end, StepState::succeeded);
  EXPECT_EQ(log(), "here\n");
}

}  // namespace
}  // namespace lockring::app::workflow
