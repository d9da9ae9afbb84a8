#include "apps/event_file.h"

#include "apps/event_record.h"
#include "core/files.h"
#include "tests/apps/limited_file_size.h"
#include "tests/support/temporary_directory.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

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
const std::string kLossRecord = "1a00000000000000129bd82d09000000000000004010012a0d0a0b0a046c6f7373150000003fe20576ce";

TEST(MaskedCrc, IsThatOfTheFormat) {
  // RFC 3720, B.4: the CRC-32C of 32 bytes of zeros is 8a9136aa; of "123456789" it is e3069283.
  EXPECT_EQ(masked_crc32c(std::string(32, '\0')), (0x8a9136aaU >> 15 | 0x8a9136aaU << 17) + 0xa282ead8U);
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5U);
}

TEST_F(EventFileTest, HoldsTheseBytes) {
  EventFile events(folder_.path(), warn(), counting_clock());
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord);
  events.add(1, scalar_event("loss", 0.5));
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord) << "nothing is written before the flush";
  events.flush();
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord + kLossRecord);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(EventFileTest, WritesStepsOfEverySize) {
  EventFile events(folder_.path(), warn(), counting_clock());
  const std::size_t start = read_file(events.path()).size();
  events.add(std::int64_t{1} << 35, scalar_event("x", -2));
  events.flush();
  // Behind the length and its checksum (12 bytes) and the time (9 bytes): step 2^35 as a varint of six bytes, then tag
  // and -2.0f.
  EXPECT_EQ(hex(read_file(events.path()).substr(start + 21, 19)),
            "10808080808001"
            "2a0a0a080a017815000000c0");
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
    events.add(1, scalar_event("loss", 0.5));
  }
  EXPECT_EQ(hex(read_file(path)), kVersionRecord + kLossRecord);
}

TEST_F(EventFileTest, AFullDiskCostsOneWarningAndNoHalfRecord) {
  EventFile events(folder_.path(), warn(), counting_clock());
  {
    const LimitedFileSize limit(kVersionRecord.size() / 2 + 7);
    for (int i = 0; i < 3; ++i) events.flush();
    EXPECT_TRUE(warnings_.empty());
    events.add(1, scalar_event("loss", 0.5));
    for (int i = 0; i < 3; ++i) events.flush();
    EXPECT_EQ(hex(read_file(events.path())), kVersionRecord);
  }
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0], "cannot write " + events.path().string() + ": File too large; training goes on without it");
  events.flush();
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord + kLossRecord) << "what waited is written when there is room";
}

TEST_F(EventFileTest, WhatWaitsForADiskIsLimited) {
  EventFile events(folder_.path(), warn(), counting_clock());
  {
    const LimitedFileSize limit(kVersionRecord.size() / 2);
    for (int i = 0; i < 3; ++i) {
      events.add(1, text_event("t", std::string(1 << 20, 'x')));
      events.flush();
    }
  }
  events.flush();
  EXPECT_EQ(hex(read_file(events.path())), kVersionRecord);
}

TEST_F(EventFileTest, AFolderThatIsNotThereCostsOneWarning) {
  {
    EventFile events(folder_ / "nowhere", warn());
    EXPECT_EQ(events.path(), "");
    events.add(1, scalar_event("loss", 0.5));
    events.flush();
  }
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("nowhere/events.out.tfevents."), std::string::npos);
}

TEST_F(EventFileTest, AFileThatVanishesIsNotMadeAgain) {
  EventFile events(folder_.path(), warn());
  std::filesystem::remove(events.path());
  events.add(1, scalar_event("loss", 0.5));
  events.flush();
  EXPECT_FALSE(std::filesystem::exists(events.path())) << "it would lack its beginning";
  EXPECT_EQ(warnings_.size(), 1u);
}

}  // namespace
}  // namespace lockring::app
