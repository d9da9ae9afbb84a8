#include "data/image_cache.h"

#include "core/files.h"
#include "tests/data/child_process.h"
#include "tests/data/numbered_images.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class ImageCacheTest : public testing::Test {
 protected:
  ImageCache cache() {
    return ImageCache({directory_, [this](const std::string& text) { notices_.push_back(text); }});
  }
  // Makes or finds the entry and reads all of it; false if the cache cannot be used.
  bool use(ImageCache& cache, const CacheKey& key) {
    const auto found = cache.find_or_make(key, "small", [this] {
      ++sources_;
      return images_;
    });
    if (!found) return false;
    EXPECT_TRUE(same_images(*found->images, *images_));
    return true;
  }
  bool use() {
    ImageCache one = cache();
    return use(one, key_);
  }
  // Names of what lies in the cache.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  std::vector<std::string> only_the_entry() const { return {key_.name() + ".images", key_.name() + ".lock"}; }
  // The name of an entry that is being made, or that nobody makes any more; it tells the process.
  std::string half_made() const {
    std::error_code error;
    if (!fs::exists(directory_, error)) return "";
    const auto names = files();
    const auto found =
        std::ranges::find_if(names, [](const std::string& name) { return name.find(".tmp.") != name.npos; });
    return found == names.end() ? "" : *found;
  }

  TemporaryDirectory folder_;
  fs::path directory_ = folder_ / "cache" / "images";
  const CacheKey key_{.digest = std::string(64, 'd'), .split = "train", .front = "resize:8"};
  const fs::path path_ = cache_path(directory_, key_);
  std::shared_ptr<NumberedImages> images_ = std::make_shared<NumberedImages>(64, Shape{8, 8, 1});
  int sources_ = 0;
  std::vector<std::string> notices_;
};

TEST_F(ImageCacheTest, IsMadeOnceAndFoundLater) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(use());
  EXPECT_EQ(sources_, 1);
  EXPECT_EQ(notices_, std::vector<std::string>());
  EXPECT_EQ(files(), only_the_entry());
}

TEST_F(ImageCacheTest, KeysDoNotShareAnEntry) {
  ImageCache one = cache();
  EXPECT_TRUE(use(one, key_));
  CacheKey other = key_;
  other.split = "test";
  images_ = std::make_shared<NumberedImages>(10, Shape{8, 8, 1});
  EXPECT_TRUE(use(one, other));
  other.front = "resize:4";
  images_ = std::make_shared<NumberedImages>(10, Shape{4, 4, 1});
  EXPECT_TRUE(use(one, other));
  EXPECT_EQ(sources_, 3);
  EXPECT_EQ(one.find_or_make(key_, "small", {})->images->size(), 64);
}

TEST_F(ImageCacheTest, AFileThatIsNotWholeIsMadeAnew) {
  EXPECT_TRUE(use());
  const std::string whole = read_file(path_);
  const auto expect_made_anew = [&](const std::string& content) {
    sources_ = 0;
    notices_.clear();
    write(path_, content);
    EXPECT_TRUE(use());
    EXPECT_EQ(sources_, 1);
    ASSERT_EQ(notices_.size(), 1u);
    EXPECT_NE(notices_[0].find(": it is made anew"), std::string::npos) << notices_[0];
    EXPECT_TRUE(read_file(path_) == whole);
  };
  expect_made_anew(whole.substr(0, whole.size() - 1));
  expect_made_anew("");
  expect_made_anew("something else that is long enough to be looked at, and then some more, and then some more, and");
  std::string flipped = whole;
  flipped[whole.size() - 40] ^= 1;
  expect_made_anew(flipped);
  // An entry of another key under this one's name.
  CacheKey other = key_;
  other.front = "resize:9";
  ImageCache one = cache();
  EXPECT_TRUE(use(one, other));
  expect_made_anew(read_file(cache_path(directory_, other)));
}

TEST_F(ImageCacheTest, ADamagedImageIsPreparedAnewAndTheFileNextTime) {
  EXPECT_TRUE(use());
  flip_bit(path_, 64 + 5 * 64 + 3);
  sources_ = 0;
  EXPECT_TRUE(use());
  EXPECT_EQ(sources_, 1);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("image 5 is damaged: such images are prepared anew"), std::string::npos) << notices_[0];
  EXPECT_TRUE(use());
  EXPECT_EQ(sources_, 2);
  EXPECT_TRUE(use());
  EXPECT_EQ(sources_, 2);
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(ImageCacheTest, ADamagedSourceIsAnErrorAndLeavesNothing) {
  images_->bad = 40;
  expect_error(ErrorCode::data, "image 40 is damaged", [&] { use(); });
  EXPECT_EQ(files(), std::vector<std::string>{key_.name() + ".lock"});
  images_->bad = -1;
  EXPECT_TRUE(use());
}

// Without the right to write, what is there can still be used.
TEST_F(ImageCacheTest, AReadOnlyFolderGivesWhatItHas) {
  EXPECT_TRUE(use());
  fs::permissions(folder_.path(), fs::perms(0755));
  ChildProcess child([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) return 1;
    if (access(directory_.c_str(), W_OK) == 0) fs::permissions(directory_, fs::perms(0555));
    if (!use() || sources_ != 1 || !notices_.empty()) return 2;
    CacheKey other = key_;
    other.front = "grayscale";
    ImageCache one = cache();
    if (use(one, other) || use(one, key_)) return 3;
    return notices_.size() == 1 && notices_[0].find("Permission denied") != std::string::npos ? 0 : 4;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(ImageCacheTest, WithoutAFolderItIsSaidOnce) {
  for (const fs::path& folder : {fs::path(), fs::path("/dev/null/cache"), fs::path("/proc/cache")}) {
    directory_ = folder;
    notices_.clear();
    ImageCache one = cache();
    CacheKey test = key_;
    test.split = "test";
    EXPECT_FALSE(use(one, key_));
    EXPECT_FALSE(use(one, test));
    ASSERT_EQ(notices_.size(), 1u) << folder;
    EXPECT_TRUE(notices_[0].starts_with("there is no disk cache, so images are prepared anew")) << notices_[0];
  }
  EXPECT_EQ(sources_, 0);
}

TEST_F(ImageCacheTest, AFullDiskLeavesNothingBehind) {
  ChildProcess child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2000, 2000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (use() || notices_.size() != 1 || notices_[0].find("File too large") == std::string::npos) return 2;
    return files() == std::vector<std::string>{key_.name() + ".lock"} ? 0 : 3;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(use());
}

// A file system of 64 KiB, where the test may make one.
TEST_F(ImageCacheTest, ATinyFileSystemLeavesNothingBehind) {
  fs::create_directories(directory_);
  if (mount("cache", directory_.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "no right to mount";
  images_ = std::make_shared<NumberedImages>(3000, Shape{8, 8, 1});
  EXPECT_FALSE(use());
  EXPECT_EQ(files(), std::vector<std::string>{key_.name() + ".lock"});
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("No space left on device"), std::string::npos) << notices_[0];
  images_ = std::make_shared<NumberedImages>(64, Shape{8, 8, 1});
  EXPECT_TRUE(use());
  EXPECT_EQ(umount(directory_.c_str()), 0);
}

TEST_F(ImageCacheTest, AKilledProcessBlocksNobody) {
  images_->delay = std::chrono::minutes(1);  // none makes it before it is killed
  for (int i = 0; i < 3; ++i) {
    const std::string before = half_made();
    ChildProcess child([&] { return use() ? 0 : 1; });
    while (half_made() == before || half_made().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    child.kill();
    EXPECT_EQ(child.wait(), -1);
    EXPECT_NE(half_made(), "");
    EXPECT_NE(half_made(), before);
  }
  images_->delay = std::chrono::milliseconds(0);
  EXPECT_TRUE(use());
  EXPECT_EQ(files(), only_the_entry());
}

TEST_F(ImageCacheTest, OfSeveralProcessesOneMakesIt) {
  images_->delay = std::chrono::milliseconds(5);
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(std::make_unique<ChildProcess>([&] { return use() ? 10 + sources_ : 1; }));
  int makers = 0;
  for (const auto& child : children) {
    const int code = child->wait();
    EXPECT_TRUE(code == 10 || code == 11) << code;
    makers += code == 11;
  }
  EXPECT_EQ(makers, 1);
  EXPECT_EQ(files(), only_the_entry());
}

// Where the lock does not work, each makes the file, and the last one stays.
TEST_F(ImageCacheTest, WithoutALockItIsMadeByEach) {
  fs::create_directories(fs::path(path_).replace_extension("lock"));
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (int i = 0; i < 4; ++i) children.push_back(std::make_unique<ChildProcess>([&] { return use() ? 0 : 1; }));
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
  EXPECT_TRUE(use());
  EXPECT_EQ(sources_, 0);
  EXPECT_EQ(files(), only_the_entry());
}

TEST_F(ImageCacheTest, TheFolderIsTheUsersCache) {
  setenv("XDG_CACHE_HOME", "/some/cache", 1);
  EXPECT_EQ(default_cache_dir(), "/some/cache/lockring");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/some/home", 1);
  EXPECT_EQ(default_cache_dir(), "/some/home/.cache/lockring");
}

}  // namespace
}  // namespace lockring::data
