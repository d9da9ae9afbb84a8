// Workflow files: what they may say, and how mistakes are told.
#include "apps/workflow/spec.h"

#include "apps/workflow/duration.h"
#include "apps/workflow/graph.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app::workflow {
namespace {

Workflow parse(const std::string& text, const Parameters& set = {}) { return parse_workflow(text, "w.yaml", set); }

void expect_mistake(const std::string& text, const std::string& message, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  expect_error(
      ErrorCode::data, message, [&] { parse(text); }, file, line);
}

// A step "a" with these lines in it.
std::string with(const std::string& lines) { return "steps:\n  a:\n    run: true\n" + lines; }

TEST(WorkflowSpec, ReadsAllThatAStepMaySay) {
  const Workflow w = parse(R"(
name: all
seed: 7
keep_going: true
parameters: {epochs: 5, note: "a b"}
steps:
  first:
    run: [make, "${note}", "${outputs.model}"]
    inputs: {raw: data/raw.bin, more: [x, y]}
    outputs:
      model: {kind: file, name: best.bin, identity: ["*.bin", "!tmp*"]}
      fixed: {path: ./out//model.bin}
      score: value
    env: {LEVEL: "${epochs}"}
    memoize: {max_age: 14d, ignore: [more, LEVEL]}
    retries: {limit: 3, backoff: 500ms, factor: 1.5, max: 1m}
    timeout: 2h
    resources: {ranks: 2, replicas: 3}
    version: "4"
    seed: 9
  second:
    run: use ${steps.first.model}
    needs: [first]
    when: ${steps.first.score} > 0.5
    async: true
    server: {ready: "http://127.0.0.1:${step.port}/", update: touch x, ready_timeout: 5s}
on_exit:
  run: echo ${run.status}
)");
  EXPECT_EQ(w.name, "all");
  EXPECT_TRUE(w.keep_going);
  ASSERT_EQ(w.steps.size(), 2u);
  const StepSpec& first = w.steps[0];
  EXPECT_EQ(first.words.size(), 3u);
  EXPECT_TRUE(first.inputs[1].is_list);
  EXPECT_EQ(first.find_output("model")->file_name, "best.bin");
  EXPECT_EQ(first.find_output("model")->identity.size(), 2u);
  EXPECT_EQ(first.find_output("fixed")->path, "out/model.bin");
  EXPECT_EQ(first.find_output("score")->kind, OutputKind::value);
  EXPECT_EQ(first.find_output("none"), nullptr);
  EXPECT_EQ(first.memoize.max_age, 14 * 86400);
  EXPECT_EQ(first.retries.limit, 3);
  EXPECT_EQ(first.retries.backoff, 0.5);
  EXPECT_EQ(first.retries.most, 60);
  EXPECT_EQ(first.timeout, 7200);
  EXPECT_EQ(first.resources.slots, 6);
  EXPECT_EQ(first.version, "4");
  EXPECT_EQ(first.seed, 9u);
  const StepSpec& second = w.steps[1];
  EXPECT_EQ(second.seed, 7u) << "the workflow's";
  EXPECT_EQ(second.resources.slots, 0) << "servers take no cores";
  EXPECT_EQ(second.server->update.size(), 2u);
  EXPECT_TRUE(second.async);
  ASSERT_TRUE(w.on_exit);
  EXPECT_EQ(w.find("second"), 1);
  EXPECT_EQ(w.find("third"), -1);
}

TEST(WorkflowSpec, ParametersAreFilledInWhereAValueIsNeededAtOnce) {
  const std::string text = "parameters: {n: 2, t: 5s}\nsteps:\n  a: {run: x, retries: \"${n}\", timeout: \"${t}\"}\n";
  EXPECT_EQ(parse(text).steps[0].retries.limit, 2);
  EXPECT_EQ(parse(text, {{"n", "4"}}).steps[0].retries.limit, 4);
  EXPECT_EQ(parse(text, {{"n", "4"}, {"n", "5"}}).steps[0].retries.limit, 5) << "the last one given";
  expect_error(ErrorCode::usage, "--set m: w.yaml has no such parameter", [&] { parse(text, {{"m", "1"}}); });
  expect_error(ErrorCode::usage, "(did you mean 'epochs'?)", [&] {
    parse("parameters: {epochs: 2}\nsteps: {a: {run: x}}", {{"epoch", "1"}});
  });
  expect_error(ErrorCode::data, "retries: expected a whole number from 0 to 1000, found 'x'", [&] {
    parse(text, {{"n", "x"}});
  });
  const std::string required = "parameters: {source: }\nsteps: {a: {run: x}}";
  expect_mistake(required, "w.yaml:1:14: the parameter 'source' has no value; give it with --set source=VALUE");
  EXPECT_EQ(*parse(required, {{"source", "/raw"}}).find_parameter("source"), "/raw");
}

TEST(WorkflowSpec, ACommandInOneTextNeedsAShellOnlyIfItMeansMoreThanItsWords) {
  const auto step = [](const std::string& run) {
    return parse("parameters: {x: 1}\nsteps:\n  a:\n    run: " + run + "\n").steps[0];
  };
  EXPECT_EQ(step("cp from ${x}/to --now").words.size(), 4u);
  EXPECT_TRUE(step("cp from to").script.parts.empty());
  for (const char* run : {"a | b", "a > b", "a; b", "a && b", "\"a 'b c'\"", "a *.txt", "X=1 a", "cd x", "exit 3",
                          "echo a", "a $HOME", "if true", "|\n      a\n      b"}) {
    const StepSpec shell = step(run);
    EXPECT_TRUE(shell.words.empty()) << run;
    EXPECT_FALSE(shell.script.parts.empty()) << run;
  }
}

TEST(WorkflowSpec, MistakesNameTheirPlace) {
  expect_mistake("steps: [", "w.yaml:");
  expect_mistake("", "w.yaml:1:1: a workflow: expected a map, found nothing");
  expect_mistake("name: x\n", "w.yaml:1:1: a workflow has steps: there is no key 'steps'");
  expect_mistake("steps: {}\n", "w.yaml:1:8: a workflow has at least one step");
  expect_mistake("step: {}\n", "w.yaml:1:1: unknown key 'step' of a workflow (did you mean 'steps'?)");
  expect_mistake("steps:\n  a: {run: x}\n---\nsteps: {}\n", "a second document");
  expect_mistake("steps:\n  a: {run: x}\n  b: {run: y}\n  a: {run: z}\n",
                 "w.yaml:4:3: 'a' is there twice; first in line 2");
  expect_mistake("steps:\n  a:\n    run: x\n    run: y\n", "w.yaml:4:5: 'run' is there twice");
  expect_mistake("steps:\n  a: {run: x}\n  [b]: {run: x}\n", "w.yaml:3:3: a key is a word, not a list or a map");
  expect_mistake("steps:\n  a.b: {run: x}\n", "w.yaml:2:3: 'a.b' is no name of a step");
  expect_mistake("steps:\n  a: {}\n", "w.yaml:2:3: step a: expected one of 'run' and 'uses', found none");
  expect_mistake("steps:\n  a: {run: x, uses: train}\n", "found both");
  expect_mistake("steps:\n  a: x\n", "w.yaml:2:6: step a: expected a map, found a word");
  expect_mistake("steps:\n  a: {run: []}\n", "w.yaml:2:12: run: expected a command, found nothing");
  expect_mistake("steps:\n  a: {run: x, with: {a: 1}}\n", "w.yaml:2:21: 'with' goes with 'uses'");
}

TEST(WorkflowSpec, MistakesInAStep) {
  expect_mistake(with("    memoise: true\n"), "w.yaml:4:5: unknown key 'memoise' of a step (did you mean 'memoize'?)");
  expect_mistake(with("    timeout: 5\n"),
                 "w.yaml:4:14: timeout: expected a time such as 250ms, 90s, 30m, 12h or 14d, found '5'");
  expect_mistake(with("    retries: -1\n"), "w.yaml:4:14: retries: expected a whole number from 0 to 1000, found '-1'");
  expect_mistake(with("    retries: {backoff: 1s}\n"), "retries: there is no key 'limit'");
  expect_mistake(with("    resources: {ranks: 0}\n"), "ranks: expected a whole number from 1 to 4096, found '0'");
  expect_mistake(with("    resources: {rank: 1}\n"), "unknown key 'rank' of resources (did you mean 'ranks'?)");
  expect_mistake(with("    memoize: yes\n"), "memoize: expected true or false, found 'yes'");
  expect_mistake(with("    memoize: true\n"), "w.yaml:2:3: step a: memoize needs outputs");
  expect_mistake(with("    outputs: {x: folder}\n"), "w.yaml:4:18: x: expected file, dir or value, found 'folder'");
  expect_mistake(with("    outputs: {x: {path: ..}}\n"), "path: expected the path of a file or folder");
  expect_mistake(with("    outputs: {x: {name: a/b}}\n"), "name: expected the name of a file without folders");
  expect_mistake(with("    outputs: {x: {kind: value, path: p}}\n"), "x: a value has no path of its own");
  expect_mistake(with("    outputs: {x: file, y: {name: x}}\n"), "two outputs of step a are named 'x'");
  expect_mistake(with("    outputs: {x: file}\n    memoize: {ignore: [rat]}\n"), "ignore names 'rat'");
  expect_mistake(with("    server: {}\n    outputs: {x: value}\n    memoize: true\n"), "a server is not memoized");
  expect_mistake(with("    when: [x]\n"), "w.yaml:4:11: when: expected a condition, found a list");
}

TEST(WorkflowSpec, MistakesBetweenSteps) {
  expect_mistake(with("    needs: [b]\n"), "w.yaml:4:13: there is no step 'b'");
  expect_mistake(with("    needs: a\n"), "w.yaml:4:12: step a waits for itself");
  expect_mistake("steps:\n  make: {run: x}\n  b: {run: y, needs: mak}\n",
                 "there is no step 'mak' (did you mean 'make'?)");
  expect_mistake("steps:\n  a: {run: x, needs: b}\n  b: {run: x, needs: c}\n  c: {run: \"${steps.a.o}\"}\n",
                 "w.yaml:4:12: ${steps.a.o}: there is no output of step a 'o'; there is none");
  expect_mistake(
      "steps:\n  a: {run: x, needs: b, outputs: {o: file}}\n  b: {run: x, needs: c}\n  c: {run: \"x ${steps.a.o}\"}\n",
      "w.yaml:2:3: steps wait for each other: a after b after c after a");
  expect_mistake("steps:\n  a: {run: x, outputs: {o: {path: p}}}\n  b: {run: x, outputs: {q: {path: ./p}}}\n",
                 "w.yaml:3:25: steps a and b both write p");
  expect_mistake("steps:\n  a: {run: x}\non_exit: {run: x, needs: a}\n", "on_exit runs once");
}

TEST(WorkflowSpec, MistakesInReferences) {
  const auto run = [](const std::string& text) {
    return "parameters: {epochs: 1}\nsteps:\n  a:\n    run: [x, \"" + text + "\"]\n";
  };
  expect_mistake(run("${epoch}"), "w.yaml:4:14: ${epoch}: there is no parameter 'epoch' (did you mean 'epochs'?)");
  expect_mistake(run("${inputs.x}"), "${inputs.x}: there is no input 'x'; there is none");
  expect_mistake(run("${outputs.x}"), "${outputs.x}: there is no output 'x'");
  expect_mistake(run("${step.rank}"), "${step.rank}: there is no word of a step 'rank' (did you mean 'ranks'?)");
  expect_mistake(run("${run.date}"), "${run.date}: there is no word of a run 'date'");
  expect_mistake(run("${what.x}"), "'${what.x}' is no reference");
  expect_mistake(run("${a b}"), "'${a b}' is no reference");
  expect_mistake(run("${epochs"), "'${epochs' has no closing brace");
  expect_mistake(with("    inputs: {x: \"${step.name}\"}\n"),
                 "an input is made of parameters and outputs of other steps");
  EXPECT_EQ(parse(run("$${epochs} $x $")).steps[0].words[1].parts[0].literal, "${epochs} $x $");
}

TEST(WorkflowSpec, CommandsOfTheProgramAreCheckedAgainstTheirOptions) {
  const auto uses = [](const std::string& lines) { return "steps:\n  a:\n    uses: train\n" + lines; };
  expect_mistake("steps:\n  a: {uses: trian}\n", "w.yaml:2:13: there is no command 'trian' (did you mean 'train'?)");
  expect_mistake(uses("    with: {epoch: 1}\n"),
                 "w.yaml:4:12: 'lockring train' has no option 'epoch' (did you mean 'epochs'?)");
  expect_mistake(uses("    resources: {ranks: 3}\n"),
                 "4 shards cannot be dealt to 3 ranks of 1 replicas; say how many with 'shards'");
  const StepSpec step =
      parse(uses("    with: {epochs: 1, nesterov: true, shards: 6}\n    resources: {ranks: 3}\n")).steps[0];
  EXPECT_TRUE(step.with[1].values.empty()) << "a flag";
  ASSERT_NE(step.find_output("run"), nullptr) << "every training has a run directory";
  EXPECT_EQ(step.find_output("run")->kind, OutputKind::directory);
  std::string names;
  for (const OptionSpec& option : step.with) names += option.name + " ";
  EXPECT_EQ(names, "epochs nesterov shards run-dir seed replicas ") << "no data-dir: there is no such input";
}

TEST(WorkflowYaml, AliasesMergesAndBombs) {
  const Workflow w = parse("steps:\n  a: &base {run: x, retries: 2, timeout: 1s}\n  b: {<<: *base, timeout: 2s}\n");
  EXPECT_EQ(w.steps[1].retries.limit, 2);
  EXPECT_EQ(w.steps[1].timeout, 2) << "its own";
  expect_mistake("steps: {a: {<<: 3, run: x}}\n", "'<<' takes a map");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}", i, i - 1);
    for (int j = 1; j < 10; ++j) bomb += fmt::format(", *a{}", i - 1);
    bomb += "]\n";
  }
  expect_mistake(bomb, "the aliases make the text too large");
  expect_mistake("steps: &s {a: *s}\n", "an alias of what contains it");
  expect_mistake("steps: " + std::string(5000, '['), "w.yaml:1:");
}

TEST(WorkflowDuration, Reads) {
  EXPECT_EQ(parse_duration("250ms"), 0.25);
  EXPECT_EQ(parse_duration("1.5s"), 1.5);
  EXPECT_EQ(parse_duration("14d"), 14 * 86400.0);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("0s"), 0);
  for (const char* text : {"", "5", "s", "-1s", "1 s", "1w", "1e3s", "nans", "infs", "999999999d", "1ss"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(WorkflowGraph, TellsWhoWaitsForWhom) {
  const Workflow w = parse(
      "steps:\n  a: {run: x, outputs: {o: file}}\n  b: {run: \"x ${steps.a.o}\"}\n  c: {run: x, needs: b}\n  d: {run: "
      "x, when: \"${steps.a.o} == 1\"}\n");
  const Graph graph = make_graph(w);
  EXPECT_EQ(graph.before[1], std::vector<int>{0});
  EXPECT_EQ(graph.before[3], std::vector<int>{0});
  EXPECT_EQ(graph.after[0], (std::vector<int>{1, 3}));
  EXPECT_EQ(graph.reachable(1), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace lockring::app::workflow
