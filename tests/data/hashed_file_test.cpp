#include "data/hashed_file.h"

#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

TEST(HashedFile, WritesWhatItHashes) {
  const TemporaryDirectory folder;
  Sha256 digest;
  std::string all;
  for (const char* name : {"first", "second"}) {
    HashedFile file(folder / name, digest);
    std::string content;
    // Small writes and one that is larger than what is collected.
    for (int i = 0; i < 1000; ++i) content += fmt::format("{} {},", name, i);
    file.write(content);
    file.write(std::string(3 << 20, name[0]));
    content += std::string(3 << 20, name[0]);
    EXPECT_EQ(file.bytes(), std::ssize(content));
    EXPECT_FALSE(std::filesystem::exists(folder / name));
    EXPECT_EQ(file.commit(), sha256(content));
    EXPECT_EQ(read_file(folder / name), content);
    all += content;
  }
  EXPECT_EQ(digest.hex(), sha256(all));
}

TEST(HashedFile, WithoutCommitThereIsNone) {
  const TemporaryDirectory folder;
  Sha256 digest;
  { HashedFile(folder / "file", digest).write("content"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  expect_error(ErrorCode::data, "absent", [&] { HashedFile(folder / "absent" / "file", digest); });
}

}  // namespace
}  // namespace lockring::data
