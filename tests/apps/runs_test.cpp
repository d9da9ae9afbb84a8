// The commands `lockring runs ls|show|compare|rm`.
#include "apps/run_lock.h"
#include "apps/runs/remove_runs.h"
#include "tests/apps/captured_run.h"
#include "tests/apps/run_folder.h"
#include "tests/apps/scoped_variable.h"
#include "tests/support/errors.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

class RunsTest : public RunFolderTest {
 protected:
  RunsTest() {
    make_run("cnn-1",
             {.state = "finished", .summary = R"({"test_accuracy": 0.81, "command": "lockring train --lr 0.1"})"});
    make_run("cnn-2", {.metrics = "{\"epoch\":1,\"val_accuracy\":0.9,\"val_loss\":0.3}\n{\"epoch\":2",
                       .config = "model = \"cnn\"\nepochs = 10\nlr = 0.2\nextra = \"x\"\n"});
    make_run("sub/bad", {.state = "diverged", .metrics = ""});
  }
  std::string path(const std::string& name) const { return folder(name).string(); }

  const ScopedVariable utf8_{"LC_ALL", "C.UTF-8"};
};

TEST_F(RunsTest, LsShowsEveryRunInATable) {
  const CapturedRun run = captured_run({"runs", "ls", path("")});
  EXPECT_EQ(run.code, 0);
  const std::string root = path("");
  const std::string gap(std::string("cnn-1").size(), ' ');
  EXPECT_NE(run.out.find("run"), std::string::npos);
  const std::string expected[] = {"cnn-1    finished  mlp       2/2   0.8000    0.4000    0.8100      -\n",
                                  "cnn-2    stopped   cnn      1/10   0.9000    0.3000         -      -\n",
                                  "sub/bad  diverged  mlp       0/2        -         -         -      -\n"};
  std::size_t at = 0;
  for (const std::string& line : expected) {
    at = run.out.find(line, at);
    EXPECT_NE(at, std::string::npos) << line << run.out;
  }
  EXPECT_EQ(run.err, "lockring: warning: " + path("cnn-2/metrics.jsonl") + ":2 is no whole line of an epoch\n");
}

TEST_F(RunsTest, LsRanksByAMetric) {
  const CapturedRun run = captured_run({"runs", "ls", path(""), "--by", "val_loss", "--json"});
  EXPECT_EQ(run.err, "") << "problems are part of the JSON";
  const nlohmann::json json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["run"], path("cnn-1")) << "unfinished runs come after";
  EXPECT_EQ(json[1]["run"], path("cnn-2"));
  EXPECT_EQ(json[2]["run"], path("sub/bad"));
  EXPECT_EQ(json[0]["config"]["lr"], 0.1);
  EXPECT_EQ(json[0]["config"]["model"], "mlp");
  EXPECT_EQ(json[0]["config"]["nesterov"], false);
  EXPECT_EQ(json[0]["metrics"]["test_accuracy"], 0.81);
  EXPECT_EQ(json[0]["metrics"]["best_epoch"], 2);
  EXPECT_EQ(json[1]["problems"].size(), 1u);
  EXPECT_EQ(json[2]["state"], "diverged");

  EXPECT_NE(captured_run({"runs", "ls", path(""), "--by", "train_loss"}).out.find("  loss\n"), std::string::npos);
  const CapturedRun typo = captured_run({"runs", "ls", path(""), "--by", "val_acuracy"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_NE(typo.err.find("there is no metric 'val_acuracy' (did you mean 'val_accuracy'?); there are "),
            std::string::npos)
      << typo.err;
}

TEST_F(RunsTest, LsOfNothing) {
  fs::create_directory(folder("none"));
  EXPECT_EQ(captured_run({"runs", "ls", path("none")}).out, "no runs in " + path("none") + "\n");
  EXPECT_EQ(captured_run({"runs", "ls", path("none"), "--json"}).out, "[]\n");
  EXPECT_EQ(captured_run({"runs", "ls", path("nowhere")}).code, 2);
}

TEST_F(RunsTest, ShowTellsAllOfOneRun) {
  const CapturedRun run = captured_run({"runs", "show", path("cnn-1")});
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* part : {"cnn-1: finished\n", "  lockring train --lr 0.1\n", "  lr        0.1\n", "      1  0.9000  ",
                           "      2  0.5000  ", "  train_loss    0.9000  █▁  0.5000\n",
                           "  val_accuracy  0.6000  ▁█  0.8000\n", "  test_accuracy  0.8100\n", "  metrics.jsonl  "})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << run.out;
  const nlohmann::json json = nlohmann::json::parse(captured_run({"runs", "show", path("cnn-1"), "--json"}).out);
  EXPECT_EQ(json["epochs"].size(), 2u);
  EXPECT_EQ(json["epochs"][1]["train_loss"], 0.5);
  const CapturedRun bad = captured_run({"runs", "show", path("sub/bad")});
  EXPECT_EQ(bad.out.find("epochs\n"), std::string::npos);
  EXPECT_EQ(bad.code, 0);
}

TEST_F(RunsTest, ShowCutsALongRunShort) {
  std::string metrics;
  for (int epoch = 1; epoch <= 100; ++epoch)
    metrics += fmt::format("{{\"epoch\":{},\"train_loss\":{}}}\n", epoch, epoch);
  make_run("long", {.metrics = metrics});
  const std::string out = captured_run({"runs", "show", path("long")}).out;
  EXPECT_NE(out.find("\n     15   15.0000\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\n    ...\n     86   86.0000\n"), std::string::npos);
  EXPECT_NE(out.find("\n    100  100.0000"), std::string::npos);
  EXPECT_EQ(out.find("\n     50  "), std::string::npos);
}

TEST_F(RunsTest, CompareShowsWhatDiffers) {
  const CapturedRun run = captured_run({"runs", "compare", path("cnn-1"), path("cnn-2")});
  EXPECT_EQ(run.code, 0);
  const auto has = [&](const std::string& text) { return run.out.find(text) != std::string::npos; };
  EXPECT_TRUE(has("\n  lr ")) << run.out;
  EXPECT_TRUE(has("\n  extra "));
  EXPECT_TRUE(has("\n  nesterov ")) << "only one has it";
  EXPECT_TRUE(has("0.8000    ") && has("0.9000 *")) << run.out;
  make_run("same", {.state = "finished", .config = "model = \"mlp\"\nepochs = 2\nlr = 0.3\nnesterov = false\n"});
  const nlohmann::json json =
      nlohmann::json::parse(captured_run({"runs", "compare", path("cnn-1"), path("same"), "--json"}).out);
  EXPECT_EQ(json["config"].size(), 1u);
  EXPECT_EQ(json["config"]["lr"], (nlohmann::json{0.1, 0.3}));
  EXPECT_EQ(json["metrics"]["test_accuracy"], (nlohmann::json{0.81, nullptr}));
  EXPECT_EQ(captured_run({"runs", "compare", path("cnn-1")}).code, 2);
  EXPECT_EQ(captured_run({"runs", "compare", path("cnn-1"), path("cnn-3")}).code, 2);
}

TEST_F(RunsTest, RmRemovesWhatItIsToldTo) {
  const CapturedRun run = captured_run({"runs", "rm", path("cnn-1"), path("cnn-1") + "/", path("cnn-2"), "--yes"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "removed 2 runs\n");
  EXPECT_FALSE(fs::exists(folder("cnn-1")));
  EXPECT_FALSE(fs::exists(folder("cnn-2")));
  EXPECT_TRUE(fs::exists(folder("sub/bad")));
}

TEST_F(RunsTest, RmRefusesAllBeforeItRemovesOne) {
  RunLock lock;
  ASSERT_TRUE(lock.take(folder("cnn-2")));
  make_run("outer", {});
  make_run("outer/inner", {});
  fs::create_directory_symlink(folder("sub/bad"), folder("link"));
  fs::create_directory(folder("mine"));
  data::write(folder("mine") / "log.txt", "precious");
  const auto refuse = [&](const char* name, const std::string& part) {
    const CapturedRun run = captured_run({"runs", "rm", path("cnn-1"), path(name), "--yes"});
    EXPECT_EQ(run.code, 2);
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    EXPECT_TRUE(fs::exists(folder("cnn-1")));
    EXPECT_TRUE(fs::exists(folder("sub/bad")));
  };
  refuse("cnn-2", "cnn-2 is being trained in");
  refuse("outer", "outer has other runs inside, such as " + path("outer/inner"));
  refuse("link", "link is a link; name the directory itself");
  refuse("link/", "link is a link; name the directory itself");
  refuse("mine", "mine is not the directory of a run");
  refuse("cnn-3", "there is no run");
  EXPECT_TRUE(fs::exists(folder("mine") / "log.txt"));
}

TEST_F(RunsTest, RmAsks) {
  data::write(folder("cnn-1") / "notes.txt", "mine");
  std::string asked;
  const fs::path runs[] = {folder("cnn-1"), folder("cnn-2")};
  EXPECT_FALSE(remove_runs(runs, [&](const std::string& what) {
    asked = what;
    return false;
  }));
  EXPECT_TRUE(fs::exists(folder("cnn-1")));
  EXPECT_NE(asked.find("cnn-1 ("), std::string::npos);
  EXPECT_NE(asked.find(" B, with notes.txt, which is not of the run); " + path("cnn-2") + " ("), std::string::npos)
      << asked;
  EXPECT_TRUE(remove_runs(runs, [&](const std::string&) {
    EXPECT_FALSE(RunLock().take(folder("cnn-1"), std::chrono::milliseconds(10)))
        << "nobody may begin to train in it meanwhile";
    return true;
  }));
  EXPECT_FALSE(fs::exists(folder("cnn-1")));
}

}  // namespace
}  // namespace lockring::app
