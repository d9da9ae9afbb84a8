#include "apps/event_file.h"

#include "core/files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <vector>

namespace lockring::app {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return text;
}

// Counts 1, 2, 3 ... seconds: one an event, after one for the name.
EventFile::Clock counting_clock() {
  return [seconds = -1.0]() mutable { return seconds += 1; };
}

class EventFileTest : public testing::Test {
 protected:
  EventFile::Warn warn() {
    return [this](const std::string& message) { warnings_.push_back(message); };
  }

  TemporaryDirectory folder_;
  std::vector<std::string> warnings_;
};

const std::string kVersionRecord = "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a";

TEST(MaskedCrc, IsThatOfTheFormat) {
  // RFC 3720, B.4: the CRC-32C of 32 bytes of zeros is 8a9136aa; of "123456789" it is e3069283.
  EXPECT_EQ(masked_crc32c(std::string(32, '\0')), (0x8a9136aaU >> 15 | 0x8a9136aaU << 17) + 0xa282ead8U);
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5U);
}

TEST_F(EventFileTest, HoldsTheseBytes) {
  EventFile events(folder_.path(), warn(), counting_clock());
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord);
  events.scalar("loss", 1, 0.5);
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord) << "nothing is written before the flush";
  events.flush();
  EXPECT_EQ(hex(read_file(events.path())),
            kVersionRecord + "1a00000000000000129bd82d09000000000000004010012a0d0a0b0a046c6f7373150000003fe20576ce");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(EventFileTest, WritesNumbersOfEverySize) {
  EventFile events(folder_.path(), warn(), counting_clock());
  const std::size_t start = read_file(events.path()).size();
  events.scalar("x", std::int64_t{1} << 35, -2);
  events.flush();
  // Behind the length and its checksum (12 bytes) and the time (9 bytes): step 2^35 as a varint of six bytes, then tag
  // and -2.0f.
  EXPECT_EQ(hex(read_file(events.path()).substr(start + 21, 19)),
            "1080808080800"
            "12a0a0a080a017815000000c0");
}

TEST_F(EventFileTest, StartsASessionOnResume) {
  EventFile events(folder_.path(), warn(), counting_clock());
  const std::size_t start = read_file(events.path()).size();
  events.resume(50);
  events.flush();
  EXPECT_EQ(hex(read_file(events.path()).substr(start + 12, 15)),
            "0900000000000000401032"
            "3a020801");
}

TEST_F(EventFileTest, KeepsWhatIsThere) {
  const EventFile::Clock stopped = [] { return 7.5; };
  EventFile first(folder_.path(), warn(), stopped);
  EventFile second(folder_.path(), warn(), stopped);
  EXPECT_NE(first.path(), second.path());
  EXPECT_LT(first.path(), second.path());
  EXPECT_TRUE(first.path().filename().string().starts_with("events.out.tfevents.0000000007."));
}

TEST_F(EventFileTest, FlushesAtItsEnd) {
  std::filesystem::path path;
  {
    EventFile events(folder_.path(), warn(), counting_clock());
    path = events.path();
    events.scalar("lr", 3, 0.1);
  }
  EXPECT_GT(read_file(path).size(), kVersionRecord.size() / 2);
}

TEST_F(EventFileTest, AnErrorCostsOneWarning) {
  EventFile events(folder_.path(), warn(), counting_clock());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = read_file(events.path()).size();
  setrlimit(RLIMIT_FSIZE, &small);
  for (int step = 0; step < 3; ++step) {
    events.scalar("loss", step, 1);
    events.flush();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find(events.path().string()), std::string::npos);
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord);
}

TEST_F(EventFileTest, NeedsItsDirectory) {
  expect_error(ErrorCode::data, "nowhere", [&] { EventFile(folder_ / "nowhere", warn()); });
}

}  // namespace
}  // namespace lockring::app
