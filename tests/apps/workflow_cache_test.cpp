// Content, keys, the cache and the journal.
#include "apps/workflow/cache.h"

#include "apps/workflow/content.h"
#include "apps/workflow/journal.h"
#include "apps/workflow/scope.h"
#include "core/files.h"
#include "data/file_lock.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 2'000'000'000;

class WorkflowContent : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  const TemporaryDirectory directory_;
};

TEST_F(WorkflowContent, OfAFileIsItsBytes) {
  write("a", "one");
  write("sub/b", "one");
  const Content a = content_of(directory_ / "a");
  EXPECT_EQ(a.digest, content_of(directory_ / "sub/b").digest) << "not its name";
  EXPECT_EQ(a.digest, content_of_text("one").digest);
  EXPECT_EQ(a.bytes, 3);
  fs::last_write_time(directory_ / "a", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(a.digest, content_of(directory_ / "a").digest) << "not its time";
  write("a", "two");
  EXPECT_NE(a.digest, content_of(directory_ / "a").digest);
  expect_error(ErrorCode::data, "c is not there", [&] { content_of(directory_ / "c"); });
}

TEST_F(WorkflowContent, OfAFolderIsAllOfIt) {
  write("d/a", "one");
  write("d/s/b", "two");
  const std::string digest = content_of(directory_ / "d").digest;
  const auto changed = [&] { return content_of(directory_ / "d").digest != digest; };
  EXPECT_FALSE(changed());
  fs::rename(directory_ / "d", directory_ / "e");
  fs::rename(directory_ / "e", directory_ / "d");
  EXPECT_FALSE(changed());
  write("d/s/c", "");
  EXPECT_TRUE(changed());
  fs::remove(directory_ / "d/s/c");
  fs::permissions(directory_ / "d/a", fs::perms::owner_exec, fs::perm_options::add);
  EXPECT_TRUE(changed()) << "whether it is a program";
  fs::permissions(directory_ / "d/a", fs::perms::owner_exec, fs::perm_options::remove);
  EXPECT_FALSE(changed());
  fs::create_symlink("a", directory_ / "d/link");
  EXPECT_TRUE(changed());
  fs::remove(directory_ / "d/link");
  fs::rename(directory_ / "d/a", directory_ / "d/z");
  EXPECT_TRUE(changed());
}

TEST_F(WorkflowContent, IdentityLeavesOutWhatDoesNotCount) {
  write("d/model.bin", "weights");
  write("d/log/run.log", "at noon");
  const auto identity = [&](const std::vector<std::string>& patterns) {
    return content_of(directory_ / "d", patterns).identity;
  };
  const std::string all = identity({});
  const std::string bins = identity({"*.bin"});
  const std::string no_logs = identity({"!*.log"});
  EXPECT_EQ(bins, no_logs);
  EXPECT_NE(all, bins);
  write("d/log/run.log", "at midnight");
  EXPECT_EQ(identity({"*.bin"}), bins);
  EXPECT_NE(identity({}), all);
  EXPECT_EQ(identity({"*", "!log/*"}), bins);
}

class WorkflowKey : public WorkflowContent {
 protected:
  // Of the last step.
  StepKey key(const std::string& text, const Parameters& set = {}) {
    workflow_ = parse_workflow(text, "w.yaml", set);
    const FindOutput find = [&](const std::string& step, const std::string&) {
      const auto found = made_.find(step);
      return found == made_.end() ? nullptr : &found->second;
    };
    return key_of(workflow_, workflow_.steps.back(), find);
  }
  std::string digest(const std::string& text, const Parameters& set = {}) { return key(text, set).digest; }

  Workflow workflow_;
  std::map<std::string, OutputRecord> made_;
};

TEST_F(WorkflowKey, CoversWhatDecides) {
  write("in", "data");
  const std::string input = "inputs: {x: \"" + (directory_ / "in").string() + "\"}";
  const auto step = [&](const std::string& more) {
    return "parameters: {p: 1, q: 1}\nsteps:\n  a: {run: \"cmd ${p}\", " + more + "}\n";
  };
  const std::string base = digest(step(input));
  EXPECT_EQ(digest(step(input)), base);
  EXPECT_NE(digest(step(input), {{"p", "2"}}), base);
  EXPECT_EQ(digest(step(input), {{"q", "2"}}), base) << "a parameter that the step does not use";
  EXPECT_NE(digest(step(input + ", seed: 2")), base);
  EXPECT_NE(digest(step(input + ", version: 2")), base);
  EXPECT_NE(digest(step(input + ", env: {A: b}")), base);
  EXPECT_NE(digest(step(input + ", outputs: {o: file}")), base);
  EXPECT_EQ(digest(step(input + ", timeout: 3s, retries: 4, resources: {slots: 2}, when: 1 == 1")), base)
      << "when, where and how often it runs";
  write("in", "other");
  EXPECT_NE(digest(step(input)), base);
  write("in", "data");
  fs::rename(directory_ / "in", directory_ / "moved");
  EXPECT_EQ(digest(step("inputs: {x: \"" + (directory_ / "moved").string() + "\"}")), base) << "content, not paths";
}

TEST_F(WorkflowKey, LeavesOutWhatItIsAskedTo) {
  write("in", "data");
  const std::string text =
      "steps:\n  a: {run: x, outputs: {o: file}, memoize: {ignore: [n, E]}, env: {E: \"1\"}, inputs: {n: \"" +
      (directory_ / "in").string() + "\"}}\n";
  const std::string base = digest(text);
  write("in", "other");
  EXPECT_EQ(digest(text), base);
  EXPECT_EQ(digest(std::string(text).replace(text.find("\"1\""), 3, "\"2\"")), base);
}

TEST_F(WorkflowKey, OfATrainingDoesNotKnowItsPlacement) {
  const auto train = [&](const std::string& with, const std::string& resources) {
    return digest("steps:\n  a: {uses: train, with: {epochs: 2" + with + "}, resources: {" + resources + "}}\n");
  };
  const std::string base = train("", "ranks: 1");
  EXPECT_EQ(train("", "ranks: 2, replicas: 2"), base);
  EXPECT_EQ(train(", loader-threads: 2, cache-memory: 1G", "ranks: 1"), base);
  EXPECT_NE(train(", batch-size: 32", "ranks: 1"), base);
  EXPECT_NE(train(", shards: 8", "ranks: 1"), base);
}

TEST_F(WorkflowKey, TakesTheIdentityOfOtherStepsOutputs) {
  const std::string text = "steps:\n  a: {run: x, outputs: {o: file}}\n  b: {run: \"y ${steps.a.o}\"}\n";
  made_["a"] = {.name = "o", .kind = OutputKind::file, .location = "p", .value = {}, .digest = "1", .identity = "i"};
  const std::string base = digest(text);
  made_["a"].location = "q";
  made_["a"].digest = "2";
  EXPECT_EQ(digest(text), base);
  made_["a"].identity = "j";
  EXPECT_NE(digest(text), base);
}

TEST_F(WorkflowKey, CoversAProgramOfTheUsersOwn) {
  write("tool", "#!/bin/sh\ntrue\n");
  const std::string text = "steps:\n  a: {run: [\"" + (directory_ / "tool").string() + "\", x]}\n";
  const std::string base = digest(text);
  write("tool", "#!/bin/sh\nfalse\n");
  EXPECT_NE(digest(text), base);
}

TEST_F(WorkflowKey, ADifferenceNamesItsParts) {
  const auto step = [&](const std::string& p, const std::string& more) {
    return key("parameters: {p: 1}\nsteps:\n  a: {run: \"x ${p}\"" + more + "}\n", {{"p", p}});
  };
  EXPECT_EQ(difference(step("1", ""), step("2", "")), "parameter p: 1 then, 2 now");
  EXPECT_EQ(difference(step("1", ", version: 3"), step("1", ", seed: 4")), "seed: 1 then, 4 now; version is gone");
  EXPECT_EQ(difference(step("1", ""), step("1", ", env: {A: b}")), "variable A is new");
}

class WorkflowCache : public WorkflowContent {
 protected:
  WorkflowCache() {
    state_.make();
    workflow_ = parse_workflow(
        "name: w\nsteps:\n  a: {run: x, outputs: {o: file, v: value}, memoize: {max_age: 100s}}\n", "w.yaml");
    write("o", "made");
    const Content content = content_of(directory_ / "o");
    entry_ = {
        .key = {"k1", {{"command", "x"}}},
        .workflow = "w",
        .step = "a",
        .updated = kNow,
        .outputs = {
            {.name = "o",
             .kind = OutputKind::file,
             .location = (directory_ / "o").string(),
             .value = {},
             .digest = content.digest,
             .identity = content.identity},
            {.name = "v", .kind = OutputKind::value, .location = {}, .value = "3", .digest = "d", .identity = "d"}}};
  }
  Cache::Answer find(std::int64_t now = kNow, const std::string& key = "k1") const {
    return cache_.find("w", workflow_.steps[0], {key, {{"command", key == "k1" ? "x" : "y"}}}, now);
  }

  StateFolder state_{directory_ / "state"};
  Cache cache_{state_};
  Workflow workflow_;
  CacheEntry entry_;
};

TEST_F(WorkflowCache, GivesBackWhatWasStored) {
  EXPECT_EQ(find().reason, "it has not run yet");
  cache_.store(entry_);
  const Cache::Answer answer = find();
  ASSERT_TRUE(answer.hit);
  EXPECT_EQ(answer.hit->outputs[1].value, "3");
  EXPECT_EQ(answer.hit->updated, kNow);
  EXPECT_EQ(find(kNow, "k2").reason, "command: x then, y now");
  EXPECT_EQ(cache_.list().size(), 1u);
}

TEST_F(WorkflowCache, EntriesAgeAndTheFutureIsAMiss) {
  cache_.store(entry_);
  EXPECT_TRUE(find(kNow + 100).hit);
  EXPECT_EQ(find(kNow + 101).reason, "its entry is 1 min 41 s old, and may be 1 min 40 s");
  EXPECT_EQ(find(kNow - 3600).reason, "its entry is dated 1 h 00 min in the future");
}

TEST_F(WorkflowCache, AHitIsCheckedAgainstTheOutputsThatThereAre) {
  cache_.store(entry_);
  write("o", "else");
  EXPECT_EQ(find().reason, "its output o has changed since: " + (directory_ / "o").string());
  fs::remove(directory_ / "o");
  EXPECT_EQ(find().reason, "its output o is gone: " + (directory_ / "o").string());
  fs::create_directory(directory_ / "o");
  EXPECT_FALSE(find().hit);
  workflow_.steps[0].outputs[0].path = "elsewhere";
  EXPECT_EQ(find().reason, "its output o is now to be at elsewhere, not " + (directory_ / "o").string());
}

TEST_F(WorkflowCache, ADamagedEntryIsAMiss) {
  cache_.store(entry_);
  const fs::path file = cache_.file_of("k1");
  const std::string whole = read_file(file);
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    std::ofstream(file) << whole.substr(0, size);
    EXPECT_FALSE(find().hit) << size;
  }
  EXPECT_NE(find().reason.find("is damaged"), std::string::npos);
  EXPECT_TRUE(cache_.list().empty());
}

TEST_F(WorkflowCache, OneAtATimeMakesWhatAKeyIsOf) {
  auto right = cache_.take(entry_.key);
  ASSERT_TRUE(right);
  EXPECT_FALSE(cache_.take(entry_.key)) << "also in one process";
  EXPECT_TRUE(cache_.take({"k2", {}}));
  cache_.release(entry_.key, std::move(right));
  EXPECT_TRUE(cache_.take(entry_.key));
}

class WorkflowJournal : public WorkflowContent {
 protected:
  static JournalEntry end(const std::string& step, StepState state) {
    return {
        .kind = JournalEntry::Kind::end,
        .time = 5,
        .step = step,
        .attempt = 2,
        .state = state,
        .again = true,
        .message = "why",
        .code = 3,
        .seconds = 1.5,
        .key = "k",
        .outputs = {
            {.name = "v", .kind = OutputKind::value, .location = {}, .value = "x", .digest = "d", .identity = "d"}}};
  }
  fs::path file() const { return directory_ / "journal"; }
};

TEST_F(WorkflowJournal, KeepsEverything) {
  {
    Journal journal(file());
    journal.add(end("a", StepState::failed));
  }
  const std::vector<JournalEntry> entries = read_journal(file());
  ASSERT_EQ(entries.size(), 1u);
  const JournalEntry& entry = entries[0];
  EXPECT_EQ(entry.step, "a");
  EXPECT_EQ(entry.state, StepState::failed);
  EXPECT_TRUE(entry.again);
  EXPECT_EQ(entry.attempt, 2);
  EXPECT_EQ(entry.code, 3);
  EXPECT_EQ(entry.seconds, 1.5);
  EXPECT_EQ(entry.message, "why");
  ASSERT_EQ(entry.outputs.size(), 1u);
  EXPECT_EQ(entry.outputs[0].value, "x");
}

TEST_F(WorkflowJournal, ATornEndIsTakenAway) {
  {
    Journal journal(file());
    journal.add(end("a", StepState::succeeded));
    journal.add(end("b", StepState::succeeded));
  }
  const std::string whole = read_file(file());
  for (std::size_t cut = 1; cut < whole.size() / 2; cut += 3) {
    std::ofstream(file(), std::ios::trunc) << whole.substr(0, whole.size() - cut);
    EXPECT_EQ(read_journal(file()).size(), 1u);
    Journal(file()).add(end("c", StepState::succeeded));
    const std::vector<JournalEntry> entries = read_journal(file());
    ASSERT_EQ(entries.size(), 2u) << cut;
    EXPECT_EQ(entries[1].step, "c");
  }
}

TEST_F(WorkflowJournal, LinesOfOthersAreLeftOut) {
  std::ofstream(file())
      << "\n{}\nnull\n[1]\n{\"event\":\"end\",\"time\":1,\"state\":\"odd\"}\n{\"event\":\"begin\",\"time\":1}\n";
  EXPECT_EQ(read_journal(file()).size(), 1u);
}

}  // namespace
}  // namespace lockring::app::workflow
