// What the page of a run is told.
#include "apps/workflow/log_files.h"
#include "apps/workflow/run_page.h"
#include "tests/apps/workflow_runs.h"
#include "tests/support/errors.h"

#include <nlohmann/json.hpp>

namespace lockring::app::workflow {
namespace {

class WorkflowRunPage : public WorkflowRuns {
 protected:
  nlohmann::json page() const { return nlohmann::json::parse(run_page_json(state_.runs() / id_, 5)); }
};

TEST_F(WorkflowRunPage, HasTheGraphTheEventsAndTheResults) {
  const std::string text = R"(
steps:
  make:
    run: |
      mkdir ${outputs.run}; echo '{"val_accuracy": 0.5, "test_accuracy": 0.25}' > ${outputs.run}/summary.json
      echo seven > ${outputs.n}; echo text > ${outputs.f}
    outputs: {run: dir, n: value, f: file}
    memoize: true
  use: {run: "false", inputs: {x: "${steps.make.f}"}, needs: make, retries: 1}
)";
  run(text);
  nlohmann::json json = page();
  EXPECT_EQ(json["run"], "w-1");
  EXPECT_EQ(json["state"], "failed");
  EXPECT_EQ(json["now"], 5);
  EXPECT_EQ(json["parameters"]["dir"], directory_.path().string());
  const nlohmann::json& make = json["steps"][0];
  EXPECT_EQ(make["state"], "succeeded");
  EXPECT_TRUE(make["needs"].empty());
  EXPECT_EQ(make["results"][0], nlohmann::json({{"name", "validation"}, {"text", "0.5000"}}));
  EXPECT_EQ(make["results"][1]["text"], "0.2500");
  EXPECT_EQ(make["results"][2], nlohmann::json({{"name", "n"}, {"text", "seven"}}));
  EXPECT_EQ(make["results"][3]["place"], true);
  const nlohmann::json& use = json["steps"][1];
  EXPECT_EQ(use["needs"], nlohmann::json({"make"}));
  EXPECT_EQ(use["attempts"], 2);
  std::vector<std::string> states;
  for (const nlohmann::json& event : use["events"]) states.push_back(event["state"]);
  EXPECT_EQ(states, (std::vector<std::string>{"running", "failed", "running", "failed"}));
  EXPECT_EQ(use["events"][3]["message"], "exit code 1");
  run(text);
  EXPECT_EQ(page()["steps"][0]["state"], "cached");
}

TEST_F(WorkflowRunPage, TellsWhatAServerServesAndWhen) {
  run(R"(
steps:
  quick: {run: "echo quick > ${outputs.o}", outputs: {o: file}}
  slow: {run: "until grep -q serve ${dir}/log; do sleep 0.01; done; echo slow > ${outputs.o}", outputs: {o: file}}
  select: {run: "cat ${inputs.all} > ${outputs.o}", async: true, inputs: {all: ["${steps.quick.o}", "${steps.slow.o}"]}, outputs: {o: file}}
  serve:
    run: echo serve >> ${dir}/log; cat ${steps.select.o}; cp ${steps.select.o} ${outputs.o}; while :; do sleep 0.1; done
    async: true
    outputs: {o: file}
    server: {update: [sh, -c, "cp ${steps.select.o} ${outputs.o}; echo first: quick; echo second: slow"]}
  ask: {run: "cat ${steps.serve.o} > ${dir}/asked", memoize: false}
)");
  const nlohmann::json serve = page()["steps"][3];
  EXPECT_EQ(serve["kind"], "server");
  EXPECT_EQ(serve["events"][1]["state"], "ready");
  EXPECT_EQ(serve["events"][1]["message"], "quick");
  EXPECT_EQ(serve["events"][2]["state"], "ready");
  EXPECT_EQ(serve["events"][2]["message"], "first: quick; second: slow");
  EXPECT_EQ(read_file(directory_ / "asked"), "quick\nslow\n");
  EXPECT_EQ(serve["results"][1]["name"], "host");
}

TEST_F(WorkflowRunPage, WithoutARunThereIsNone) {
  expect_error(ErrorCode::data, "there is no run in", [&] { run_page_json(state_.runs() / "w-9", 0); });
}

TEST(WorkflowLogFiles, SaysWhatWasWrittenSince) {
  const TemporaryDirectory directory;
  const std::filesystem::path log = directory / "log";
  EXPECT_EQ(said_since(log, 0), "");
  std::ofstream(log) << "before\n  first\n\nsecond\x1b\n";
  EXPECT_EQ(said_since(log, 7), "first; second\\x1b");
  std::ofstream(log) << std::string(1000, 'x');
  EXPECT_EQ(said_since(log, 0).size(), 200u);
}

}  // namespace
}  // namespace lockring::app::workflow
