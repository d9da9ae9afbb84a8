#include "data/tar.h"

#include "core/files.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lockring::data {
namespace {

class TarTest : public testing::Test {
 protected:
  static std::string entry(const std::string& folder, const std::string& name, const std::string& content) {
    const auto bytes = static_cast<std::int64_t>(content.size());
    return tar_header(folder, name, bytes) + content + std::string(static_cast<std::size_t>(tar_padding(bytes)), '\0');
  }
  std::vector<TarEntry> list(const std::string& archive) const {
    write(path_, archive);
    return list_tar(RandomFile(path_));
  }
  void expect_bad(const std::string& archive, std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] { list(archive); });
  }

  const std::string end_ = std::string(kTarEnd, '\0');
  const std::string two_ = entry("cat", "1.png", "meow") + entry("", "empty", "") + end_;
  TemporaryDirectory folder_;
  std::filesystem::path path_ = folder_ / "a.tar";
};

TEST_F(TarTest, ListsWhatWasWritten) {
  const std::vector<TarEntry> entries = list(two_);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "cat/1.png");
  EXPECT_EQ(two_.substr(static_cast<std::size_t>(entries[0].offset), static_cast<std::size_t>(entries[0].bytes)),
            "meow");
  EXPECT_EQ(entries[1].name, "empty");
  EXPECT_EQ(entries[1].bytes, 0);
  EXPECT_TRUE(list(end_).empty());
}

TEST_F(TarTest, TheSystemsTarUnpacksIt) {
  const std::string folder(kLongestTarFolder, 'f');
  const std::string name(kLongestTarName, 'n');
  list(entry("cat & dog", "1.png", "meow") + entry(folder, name, std::string(1000, 'x')) + end_);
  const std::string command = "tar -xf '" + path_.string() + "' -C '" + folder_.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(folder_ / "cat & dog" / "1.png"), "meow");
  EXPECT_EQ(read_file(folder_ / folder / name), std::string(1000, 'x'));
}

TEST_F(TarTest, EqualContentIsAnEqualArchive) {
  EXPECT_EQ(entry("cat", "1.png", "meow"), entry("cat", "1.png", "meow"));
  EXPECT_EQ(two_.size() % kTarBlock, 0u);
}

TEST_F(TarTest, RejectsNamesThatDoNotFit) {
  expect_error(ErrorCode::data, "too long", [] { tar_header(std::string(156, 'f'), "n", 1); });
  expect_error(ErrorCode::data, "too long", [] { tar_header("f", std::string(101, 'n'), 1); });
  expect_error(ErrorCode::data, "8589934591 bytes", [] { tar_header("f", "n", std::int64_t{1} << 33); });
}

TEST_F(TarTest, RejectsWhatIsNoWholeArchive) {
  expect_bad("", "truncated");
  expect_bad(two_.substr(0, 700), "truncated: cat/1.png ends at byte 1024, the archive at 700");
  expect_bad(two_.substr(0, 1024), "truncated");
  expect_bad(std::string(2048, 'x'), "at byte 0: expected the header");
  std::string flipped = two_;
  flipped[1024 + 10] ^= 1;
  expect_bad(flipped, "at byte 1024: expected the header");
}

// Every flip of a bit in a header is found: by the checksum, or because the entry is of another kind.
TEST_F(TarTest, RejectsEveryFlipInAHeader) {
  for (std::size_t byte = 0; byte < kTarBlock; byte += 3) {
    std::string flipped = two_;
    flipped[byte] ^= static_cast<char>(1 << byte % 8);
    EXPECT_THROW(list(flipped), Error) << byte;
  }
}

TEST_F(TarTest, RejectsEntriesOfOtherKinds) {
  std::string folder = tar_header("", "folder", 0);
  folder[156] = '5';
  const int sum = std::stoi(folder.substr(148, 6), nullptr, 8) + '5' - '0';
  folder.replace(148, 6, fmt::format("{:06o}", sum));
  expect_bad(folder + end_, "at byte 0: expected a plain file, found an entry of type '5'");
}

}  // namespace
}  // namespace lockring::data
