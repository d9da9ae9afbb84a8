#include "apps/serve/repository.h"

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
  Repository repository({.least_replicas = 2, .most_replicas = 2}, "");
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

}  // namespace
}  // namespace lockring::app::serve
