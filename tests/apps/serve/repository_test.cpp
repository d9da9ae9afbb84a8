#include "apps/serve/repository.h"

#include "apps/serve/repository_poll.h"
#include "core/files.h"
#include "tests/apps/serve/fake_servable.h"
#include "tests/apps/small_bundle.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace lockring::app::serve {
namespace {

namespace fs = std::filesystem;

class RepositoryTest : public SmallBundleTest {
 protected:
  fs::path folder() const { return directory_ / "models"; }
  // As one should: under another name first.
  void add_version(const std::string& model, int version) const {
    const fs::path draft = folder() / model / (".draft" + std::to_string(version));
    fs::create_directories(draft);
    fs::copy_file(bundle_, draft / "model.safetensors");
    fs::rename(draft, folder() / model / std::to_string(version));
  }
  void damage(const std::string& model, int version) const {
    const fs::path path = folder() / model / std::to_string(version) / "model.safetensors";
    fs::resize_file(path, fs::file_size(path) / 2);
  }
  static std::string version_of(const Repository& repository, const std::string& name) {
    const auto servable = repository.find(name);
    return servable == nullptr ? "" : servable->description().version;
  }
  static std::vector<std::string> versions_of(const Repository& repository, const std::string& name) {
    std::vector<std::string> versions;
    for (const auto& servable : repository.all_versions(name)) versions.push_back(servable->description().version);
    return versions;
  }
};

TEST_F(RepositoryTest, ServesTheHighestVersionThatIsThere) {
  add_version("m", 1);
  add_version("m", 10);
  add_version("m", 9);
  fs::create_directories(folder() / "m" / "11.copying");
  Repository repository({}, folder());
  repository.add_folder();
  EXPECT_EQ(version_of(repository, "m"), "10");
  EXPECT_NE(repository.find("m", "10"), nullptr);
  EXPECT_EQ(repository.find("m", "9"), nullptr);
  add_version("m", 11);
  repository.load("m");
  EXPECT_EQ(version_of(repository, "m"), "11");
}

TEST_F(RepositoryTest, AVersionThatFailsLeavesTheOldOneServing) {
  add_version("m", 1);
  Repository repository({}, folder());
  repository.add_folder();
  add_version("m", 2);
  damage("m", 2);
  EXPECT_THROW(repository.load("m"), Error);
  EXPECT_EQ(version_of(repository, "m"), "1");
  const std::vector<IndexRow> rows = repository.index();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].state, "READY");
  EXPECT_EQ(rows[1].version, "2");
  EXPECT_EQ(rows[1].state, "UNAVAILABLE");
  EXPECT_FALSE(rows[1].reason.empty());
}

TEST_F(RepositoryTest, ADigestBesideTheBundleIsChecked) {
  add_version("m", 1);
  Repository repository({}, folder());
  repository.add_folder();
  add_version("m", 2);
  const fs::path digest = folder() / "m" / "2" / "model.safetensors.sha256";
  data::write(digest, std::string(64, '0') + "  model.safetensors\n");
  expect_error(ErrorCode::data, "expected the SHA-256 0000", [&] { repository.load("m"); });
  data::write(digest, nn::bundle_digest(bundle_) + "  model.safetensors\n");
  repository.load("m");
  EXPECT_EQ(version_of(repository, "m"), "2");
}

TEST_F(RepositoryTest, AtStartALowerVersionTakesThePlaceOfADamagedOne) {
  add_version("m", 1);
  add_version("m", 2);
  damage("m", 2);
  Repository repository({}, folder());
  repository.add_folder();
  EXPECT_EQ(version_of(repository, "m"), "1");
}

TEST_F(RepositoryTest, NothingOutsideIsOpened) {
  add_version("m", 1);
  fs::create_directories(directory_ / "outside" / "1");
  fs::copy_file(bundle_, directory_ / "outside" / "1" / "model.safetensors");
  fs::create_directory_symlink(directory_ / "outside", folder() / "link");
  fs::create_directories(folder() / "inside" / "1");
  fs::create_symlink(bundle_, folder() / "inside" / "1" / "model.safetensors");
  Repository repository({}, folder());
  for (const char* name : {"../outside", "..", ".", "", "a/b", "link", ".hidden", "none"}) {
    EXPECT_FALSE(repository.knows(name)) << name;
    expect_error(ErrorCode::usage, "there is no model", [&] { repository.load(name); });
  }
  expect_error(ErrorCode::data, "expected one bundle", [&] { repository.load("inside"); });
}

TEST_F(RepositoryTest, ReloadsLoseNoRequest) {
  Repository repository({.least_replicas = 2, .most_replicas = 2, .max_queue_time = std::chrono::minutes(10)}, "");
  repository.add_bundle("m", [this] { return BundleFile{bundle_, ""}; });
  std::atomic<bool> done = false;
  std::atomic<int> asked = 0;
  std::atomic<int> answered = 0;
  std::thread client([&] {
    while (!done) {
      std::promise<Answer> answer;
      repository.find("m")->submit({.images = Tensor::zeros({1, 6, 5, 1}, DType::u8), .inline_allowed = asked % 2 == 0},
                                   [&](Answer given) { answer.set_value(std::move(given)); });
      answered += answer.get_future().get().outcome == Outcome::ok;
      ++asked;
    }
  });
  for (int i = 0; i < 20; ++i) repository.load("m");
  done = true;
  client.join();
  EXPECT_EQ(answered.load(), asked.load());
  EXPECT_EQ(version_of(repository, "m"), "21");
}

TEST_F(RepositoryTest, UnloadedModelsCanComeBack) {
  Repository repository({}, "");
  repository.add_bundle("m", [this] { return BundleFile{bundle_, ""}; });
  repository.unload("m");
  EXPECT_EQ(repository.find("m"), nullptr);
  EXPECT_EQ(repository.index().at(0).reason, "unloaded");
  repository.load("m");
  EXPECT_NE(repository.find("m"), nullptr);
  expect_error(ErrorCode::usage, "there are two models called 'm'", [&] {
    repository.add_bundle("m", [this] { return BundleFile{bundle_, ""}; });
  });
  repository.add(std::make_shared<FakeServable>(small_description("made")));
  expect_error(ErrorCode::usage, "made of others", [&] { repository.load("made"); });
  expect_error(ErrorCode::usage, "made of others", [&] { repository.unload("made"); });
}

using Versions = std::vector<std::string>;

TEST_F(RepositoryTest, ServesAsManyVersionsAsThePolicySays) {
  for (const char* model : {"all", "two", "listed", "usual"})
    for (const int version : {1, 2, 3}) add_version(model, version);
  damage("two", 3);
  Repository repository({}, folder(), VersionPolicies({"all=all", "two=latest:2", "listed=1,3", "latest"}));
  repository.add_folder();
  EXPECT_EQ(versions_of(repository, "all"), (Versions{"3", "2", "1"}));
  EXPECT_EQ(versions_of(repository, "two"), (Versions{"2", "1"})) << "the highest two that can be served";
  EXPECT_EQ(versions_of(repository, "listed"), (Versions{"3", "1"}));
  EXPECT_EQ(versions_of(repository, "usual"), (Versions{"3"}));
  EXPECT_EQ(repository.find("all", "1")->description().version, "1");
  EXPECT_EQ(version_of(repository, "all"), "3");
  EXPECT_EQ(repository.find("listed", "2"), nullptr);
  EXPECT_EQ(repository.all().size(), 4u);
  EXPECT_EQ(repository.all_versions().size(), 8u);
}

TEST(VersionPolicy, IsReadAsItIsMeant) {
  const std::vector<std::int64_t> there = {9, 3, 1};
  EXPECT_EQ(parse_version_policy("all").candidates(there), there);
  EXPECT_EQ(parse_version_policy("1,9,7").candidates(there), (std::vector<std::int64_t>{9, 1}));
  EXPECT_EQ(parse_version_policy("latest:2").most, 2);
  EXPECT_EQ(VersionPolicies({"m=latest:3"}).of("m").most, 3);
  EXPECT_EQ(VersionPolicies({"m=latest:3"}).of("other").most, 1);
  for (const char* text : {"", "latest:", "latest:0", "latest:x", "-1", "1,", "1,,2", "newest", "9999999999999999999"})
    expect_error(ErrorCode::usage, "expected latest:N, all", [&] { parse_version_policy(text); });
  expect_error(ErrorCode::usage, "no name for a model", [] { VersionPolicies({"a/b=all"}); });
}

TEST_F(RepositoryTest, APollTakesWhatCameAndDropsWhatWent) {
  add_version("m", 1);
  Repository repository({}, folder(), VersionPolicies({"latest:2"}));
  repository.add_folder();
  const auto first = repository.find("m");
  repository.poll();
  EXPECT_EQ(repository.find("m"), first) << "what has not changed stays as it is";
  add_version("m", 2);
  add_version("other", 5);
  repository.poll();
  EXPECT_EQ(versions_of(repository, "m"), (Versions{"2", "1"}));
  EXPECT_EQ(version_of(repository, "other"), "5");
  fs::remove_all(folder() / "m" / "2");
  fs::remove_all(folder() / "other");
  repository.poll();
  EXPECT_EQ(versions_of(repository, "m"), (Versions{"1"}));
  EXPECT_EQ(repository.find("m"), first);
  EXPECT_FALSE(repository.knows("other"));
  repository.unload("m");
  add_version("m", 3);
  repository.poll();
  EXPECT_EQ(repository.find("m"), nullptr) << "what was unloaded comes back when it is asked for";
  repository.load("m");
  EXPECT_EQ(version_of(repository, "m"), "3");
}

// Copied in place, as one should not: it is never served before it is whole, and then at once.
TEST_F(RepositoryTest, APollNeverLoadsHalfABundle) {
  add_version("m", 1);
  Repository repository({}, folder());
  repository.add_folder();
  const fs::path copy = folder() / "m" / "2" / "model.safetensors";
  fs::create_directories(copy.parent_path());
  repository.poll();
  EXPECT_EQ(version_of(repository, "m"), "1");
  const std::string whole = read_file(bundle_);
  for (const std::size_t part : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 1}) {
    data::write(copy, whole.substr(0, part));
    repository.poll();
    EXPECT_EQ(version_of(repository, "m"), "1") << part;
    ASSERT_EQ(repository.index().size(), 2u);
    EXPECT_EQ(repository.index()[1].state, "UNAVAILABLE");
  }
  data::write(copy, std::string(whole.size(), '\0'));  // room was made for it first
  repository.poll();
  EXPECT_EQ(version_of(repository, "m"), "1");
  data::write(copy, whole);
  fs::last_write_time(copy, fs::last_write_time(copy) + std::chrono::seconds(1));  // clocks of files may be coarse
  repository.poll();
  EXPECT_EQ(version_of(repository, "m"), "2");
  EXPECT_EQ(repository.index().size(), 1u);
}

TEST_F(RepositoryTest, WhatIsServedStaysWhenItsSuccessorFailsAndItsFilesAreGone) {
  add_version("m", 1);
  Repository repository({}, folder());
  repository.add_folder();
  const auto first = repository.find("m");
  fs::remove_all(folder() / "m" / "1");
  add_version("m", 2);
  damage("m", 2);
  for (int i = 0; i < 2; ++i) {
    repository.poll();
    EXPECT_EQ(repository.find("m"), first);
  }
  EXPECT_THROW(repository.load("m"), Error);
  EXPECT_EQ(repository.find("m"), first);
  fs::remove_all(folder() / "m" / "2");
  expect_error(ErrorCode::data, "no versions", [&] { repository.load("m"); });
  EXPECT_EQ(repository.find("m"), first) << "a load replaces, it does not unload";
}

// However long someone holds it before he asks.
TEST_F(RepositoryTest, WhoFoundAModelBeforeItWasUnloadedIsAnswered) {
  Repository repository({}, "");
  repository.add_bundle("m", [this] { return BundleFile{bundle_, ""}; });
  auto found = repository.find("m");
  repository.unload("m");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::promise<Answer> answer;
  found->submit({.images = Tensor::zeros({1, 6, 5, 1}, DType::u8)},
                [&](Answer given) { answer.set_value(std::move(given)); });
  EXPECT_EQ(answer.get_future().get().outcome, Outcome::ok);
  const std::weak_ptr<Servable> watched = found;
  found.reset();
  while (!watched.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(RepositoryTest, ThePollSaysWhatChanged) {
  add_version("m", 1);
  Repository repository({}, folder());
  repository.add_folder();
  std::mutex mutex;
  std::string said;
  const auto wait_for = [&](const std::string& text) {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::scoped_lock lock(mutex);
      if (said.find(text) != std::string::npos) return;
    }
  };
  const RepositoryPoll poll(repository, std::chrono::milliseconds(1), [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    said += line + "\n";
  });
  add_version("m", 2);
  wait_for("m version 2 is served\nm version 1 is gone\n");
  fs::create_directories(folder() / "m" / "3");
  wait_for("m version 3 cannot be served: ");
  fs::rename(folder(), directory_ / "elsewhere");
  wait_for("cannot read ");
  EXPECT_EQ(version_of(repository, "m"), "2");
}

}  // namespace
}  // namespace lockring::app::serve
