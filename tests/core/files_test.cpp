#include "core/files.h"

#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>

namespace lockring {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t entries(const TemporaryDirectory& folder) {
  return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

TEST(AtomicFile, IsInvisibleUntilCommitted) {
  const TemporaryDirectory folder;
  const fs::path path = folder / "model";
  AtomicFile file(path);
  file.write("half");
  EXPECT_FALSE(fs::exists(path));
  file.write(" and half");
  file.commit();
  EXPECT_EQ(read_file(path), "half and half");
  EXPECT_EQ(entries(folder), 1);
}

TEST(AtomicFile, ReplacesTheOldContentsAtOnce) {
  const TemporaryDirectory folder;
  const fs::path path = folder / "model";
  write_file(path, "old, and longer than the new");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old, and longer than the new");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new");
}

TEST(AtomicFile, VanishesWithoutCommit) {
  const TemporaryDirectory folder;
  const fs::path path = folder / "model";
  write_file(path, "old");
  try {
    AtomicFile file(path);
    file.write("half");
    throw std::runtime_error("stop");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder), 1);
}

TEST(AtomicFile, TwoWritersOfOneTargetDoNotMix) {
  const TemporaryDirectory folder;
  const fs::path path = folder / "model";
  AtomicFile first(path);
  AtomicFile second(path);
  first.write("first");
  second.write("second");
  first.commit();
  second.commit();
  EXPECT_EQ(read_file(path), "second");
  EXPECT_EQ(entries(folder), 1);
}

TEST(AtomicFile, WritesIntoTheCurrentFolder) {
  const TemporaryDirectory folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file("plain_name", "text");
  fs::current_path(before);
  EXPECT_EQ(read_file(folder / "plain_name"), "text");
}

// Such as /dev/full, which root could rename over.
TEST(AtomicFile, ReplacesNoDevice) {
  const TemporaryDirectory folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::data, "pipe: it is no regular file", [&] { AtomicFile(folder / "pipe"); });
  fs::create_symlink("pipe", folder / "link");
  expect_error(ErrorCode::data, "link: it is no regular file", [&] { AtomicFile(folder / "link"); });
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
}

TEST(AtomicFile, AFolderThatIsNotThereIsAnError) {
  const TemporaryDirectory folder;
  expect_error(ErrorCode::data, "missing/model: No such file", [&] { AtomicFile(folder / "missing/model"); });
}

TEST(AtomicFile, ATargetThatIsAFolderIsAnErrorAndNothingStays) {
  const TemporaryDirectory folder;
  fs::create_directory(folder / "model");
  expect_error(ErrorCode::data, "cannot write " + (folder / "model").string(),
               [&] { write_file(folder / "model", "x"); });
  EXPECT_EQ(entries(folder), 1);
}

// Files of this process can grow to `bytes` only while it lives, as on a disk that is nearly full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(AtomicFile, AFullDiskIsAnErrorAndKeepsTheOldFile) {
  const TemporaryDirectory folder;
  const fs::path path = folder / "model";
  write_file(path, "old");
  {
    const FileSizeLimit limit(10'000);
    const std::string large(50'000, 'x');
    expect_error(ErrorCode::data, "model: File too large", [&] { write_file(path, large); });
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder), 1);
}

TEST(ReadFile, ReadsEveryByte) {
  const TemporaryDirectory folder;
  std::string text(200'001, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 3);
  write_file(folder / "bytes", text);
  EXPECT_EQ(read_file(folder / "bytes"), text);
  write_file(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty"), "");
}

TEST(ReadFile, NamesWhatItCannotRead) {
  const TemporaryDirectory folder;
  expect_error(ErrorCode::data, "cannot read " + (folder / "nothing").string() + ": No such file",
               [&] { read_file(folder / "nothing"); });
  expect_error(ErrorCode::data, "Is a directory", [&] { read_file(folder.path()); });
}

// Lets go of the superuser's right to read everything, while it lives.
class WithoutPrivilege {
 public:
  WithoutPrivilege() {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0) was_root_ = seteuid(kNobody) == 0;
  }
  ~WithoutPrivilege() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  WithoutPrivilege(const WithoutPrivilege&) = delete;
  WithoutPrivilege& operator=(const WithoutPrivilege&) = delete;

 private:
  bool was_root_ = false;
};

TEST(ReadFile, WithoutPermissionIsAnError) {
  const TemporaryDirectory folder;
  write_file(folder / "secret", "text");
  fs::permissions(folder / "secret", fs::perms::none);
  const WithoutPrivilege without_privilege;
  expect_error(ErrorCode::data, "Permission denied", [&] { read_file(folder / "secret"); });
}

TEST(ReadFile, OrNothing) {
  const TemporaryDirectory folder;
  write_file(folder / "file", "text", Sync::later);
  EXPECT_EQ(read_file_or_nothing(folder / "file"), "text");
  EXPECT_EQ(read_file_or_nothing(folder / "other"), "");
  EXPECT_EQ(read_file_or_nothing(folder.path()), "");
}

// FIPS 180-4 examples.
TEST(Sha256, MatchesKnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesAreAsTheWhole) {
  const std::string text(1000, 'q');
  Sha256 digest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::min(text.size() - at, at % 97 + 1);
    digest.update(std::as_bytes(std::span(text).subspan(at, size)));
    at += size;
  }
  EXPECT_EQ(digest.hex(), sha256(text));
}

}  // namespace
}  // namespace lockring
