// The commands `lockring workflow ...`.
#include "apps/workflow/state_folder.h"
#include "apps/workflow/view.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

class WorkflowRun : public testing::Test {
 protected:
  WorkflowRun() {
    write("w.yaml", R"(
parameters: {n: 3, log: }
steps:
  make: {run: "echo make >> ${log}; seq ${n} > ${outputs.numbers}", outputs: {numbers: file}, memoize: true}
  count: {run: "wc -l < ${steps.make.numbers} > ${outputs.lines}", outputs: {lines: value}, memoize: true}
  say: {run: "echo there are ${steps.count.lines}; test ${step.attempt} = 2", retries: 1}
)");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(directory_ / name) << text; }
  CapturedRun run(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"workflow", command};
    if (command == "run" || command == "plan") {
      arguments.push_back((directory_ / "w.yaml").string());
      arguments.insert(arguments.end(), {"--set", "log=" + (directory_ / "log").string()});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--state-dir", (directory_ / "state").string()});
    return captured_run(arguments);
  }
  nlohmann::json json(const std::string& command, std::vector<std::string> more = {}) const {
    more.push_back("--json");
    return nlohmann::json::parse(run(command, more).out);
  }

  const TemporaryDirectory directory_;
};

TEST_F(WorkflowRun, TellsALineAnEvent) {
  const CapturedRun first = run("run");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "w-1: succeeded\n");
  for (const char* line : {"  make: running, it has not run yet\n", "  make: succeeded, after ",
                           "  say: waiting, exit code 1; attempt 2 in ", "  say: running, attempt 2\n"})
    EXPECT_NE(first.err.find(line), std::string::npos) << line << first.err;
  const CapturedRun second = run("run", {"--quiet"});
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(second.out, "w-2: succeeded\n");
}

TEST_F(WorkflowRun, JsonHasTheStepsAndWhatTheyMade) {
  const nlohmann::json run = json("run");
  EXPECT_EQ(run["run"], "w-1");
  EXPECT_EQ(run["state"], "succeeded");
  EXPECT_EQ(run["parameters"]["n"], "3");
  ASSERT_EQ(run["steps"].size(), 3u);
  EXPECT_EQ(run["steps"][1]["outputs"]["lines"], "3");
  EXPECT_EQ(run["steps"][2]["attempts"], 2);
  EXPECT_EQ(json("show", {"w-1"}), run);
  EXPECT_EQ(json("ls")[0]["run"], "w-1");
}

TEST_F(WorkflowRun, PlanTellsHitOrMissAndWhy) {
  const auto verdicts = [](const nlohmann::json& plan) {
    std::string text;
    for (const nlohmann::json& step : plan) text += step["verdict"].get<std::string>() + " ";
    return text;
  };
  nlohmann::json plan = json("plan");
  EXPECT_EQ(verdicts(plan), "MISS MISS RUN ");
  EXPECT_EQ(plan[0]["reason"], "it has not run yet");
  EXPECT_EQ(plan[1]["reason"], "its input make.numbers is made anew");
  EXPECT_FALSE(fs::exists(directory_ / "log")) << "nothing is run";
  run("run");
  plan = json("plan");
  EXPECT_EQ(verdicts(plan), "HIT HIT RUN ");
  plan = json("plan", {"--set", "n=4"});
  EXPECT_EQ(plan[0]["reason"], "parameter n: 3 then, 4 now");
  EXPECT_EQ(verdicts(json("plan", {"--no-cache"})), "MISS MISS RUN ");
  const CapturedRun text = run("plan");
  EXPECT_NE(text.out.find("  make   HIT  made "), std::string::npos) << text.out;
}

TEST_F(WorkflowRun, LsShowAndLogs) {
  EXPECT_NE(run("ls").out.find("no runs in "), std::string::npos);
  run("run");
  EXPECT_NE(run("ls").out.find("  w-1  succeeded  20"), std::string::npos) << run("ls").out;
  const std::string shown = run("show", {"w-1"}).out;
  for (const char* part :
       {"w-1: succeeded, of ", "  n = 3\n", "\n  count  succeeded         1", "\n  count.lines   3\n"})
    EXPECT_NE(shown.find(part), std::string::npos) << part << shown;
  EXPECT_EQ(run("logs", {"w-1", "say"}).out, "== attempt 1\nthere are 3\n== attempt 2\nthere are 3\n");
  EXPECT_EQ(run("logs", {"w-1", "say", "--attempt", "2"}).out, "there are 3\n");
  EXPECT_EQ(run("logs", {"w-1", "make"}).out, "");
}

TEST_F(WorkflowRun, NamesThatThereAreNot) {
  run("run");
  const auto refuse = [&](const CapturedRun& refused, const std::string& part) {
    EXPECT_EQ(refused.code, 2) << part;
    EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;
  };
  refuse(run("show", {"w1"}), "there is no run 'w1' in ");
  refuse(run("show", {"../w-1"}), "there is no run '../w-1'");
  refuse(run("logs", {"w-1", "sai"}), "w-1 has not come to a step 'sai' (did you mean 'say'?)");
  refuse(run("logs", {"w-1", "say", "--attempt", "3"}), "step say had 2 attempts, not 3");
  refuse(run("run", {"--refresh", "mak"}), "--refresh: ");
  refuse(run("run", {"--set", "n"}), "--set: expected NAME=VALUE, found 'n'");
  refuse(run("retry", {"w-1", "--from", "x"}), "has no step 'x'");
  refuse(run("retry", {"w-2"}), "there is no run 'w-2'");
  refuse(run("gc", {"--older-than", "soon"}), "expected a time such as");
}

TEST_F(WorkflowRun, MistakesAreFoundBeforeAnythingRuns) {
  write("w.yaml",
        "parameters: {log: }\nsteps:\n  a: {run: touch ran}\n  b: {run: x, inputs: {d: [\"nowhere/data\"]}}\n");
  const CapturedRun missing = run("run");
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(missing.err.find("w.yaml:4:28: step b: its input d is not there: "), std::string::npos) << missing.err;
  EXPECT_FALSE(fs::exists(directory_ / "state"));
  EXPECT_EQ(captured_run({"workflow", "run", (directory_ / "none.yaml").string()}).code, 3);
}

TEST_F(WorkflowRun, RetryRunsWhatFailedAndWhatFollows) {
  write("w.yaml", R"(
parameters: {log: }
steps:
  a: {run: "echo a >> ${log}; echo 1 > ${outputs.o}", outputs: {o: value}}
  b: {run: "echo b >> ${log}; test -e ${log}.go && echo ${steps.a.o} > ${outputs.o}", outputs: {o: value}}
  c: {run: "echo c${steps.b.o} >> ${log}"}
)");
  const auto log = [&] {
    std::ifstream file(directory_ / "log");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const CapturedRun failed = run("run");
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("b: failed, exit code 1, after "), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("logs/b.1.log"), std::string::npos);
  EXPECT_EQ(json("show", {"w-1"})["steps"][2]["state"], "omitted");
  write("log.go", "");
  EXPECT_EQ(run("retry", {"w-1"}).code, 0);
  EXPECT_EQ(log(), "a\nb\nb\nc1\n");
  EXPECT_EQ(json("show", {"w-1"})["state"], "succeeded") << "a retried run is not a failed one";
  EXPECT_EQ(run("retry", {"w-1", "--from", "b"}).code, 0);
  EXPECT_EQ(log(), "a\nb\nb\nc1\nb\nc1\n");
  EXPECT_EQ(run("run").out, "w-2: succeeded\n") << "a run that failed has ended";
}

TEST_F(WorkflowRun, GcRemovesWhatNobodyNeeds) {
  run("run");
  const workflow::StateFolder state{directory_ / "state"};
  const auto count = [](const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); };
  fs::create_directories(state.outputs() / "w-9.make.1");
  EXPECT_EQ(json("gc", {"--older-than", "1d"})["outputs"], 1);
  EXPECT_EQ(count(state.outputs()), 1);
  EXPECT_EQ(json("run")["steps"][0]["state"], "cached");
  fs::remove_all(state.runs());
  run("gc", {"--older-than", "1d"});
  EXPECT_EQ(count(state.outputs()), 1) << "the cache needs it";
  for (const fs::directory_entry& entry : fs::directory_iterator(state.cache()))
    fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(48));
  const nlohmann::json garbage = json("gc", {"--older-than", "1d"});
  EXPECT_EQ(garbage["entries"], 2);
  EXPECT_EQ(count(state.outputs()), 0);
  EXPECT_EQ(count(state.cache()), 0);
}

TEST_F(WorkflowRun, TheLastLineOfALog) {
  const auto last = [&](const std::string& text) {
    write("log", text);
    return workflow::last_line(directory_ / "log");
  };
  EXPECT_EQ(last(""), "");
  EXPECT_EQ(last("one"), "one");
  EXPECT_EQ(last("one\ntwo\n\n"), "two");
  EXPECT_EQ(last("10 %\r20 %\r"), "20 %");
  EXPECT_EQ(last(std::string(10000, 'x') + "\nend\x1b[2J"), "end\\x1b[2J");
  EXPECT_EQ(workflow::last_line(directory_ / "none"), "");
}

}  // namespace
}  // namespace lockring::app
