#include "apps/event_record.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace lockring::app {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return text;
}

// The bytes are those that the protocol buffers of TensorBoard 2.21 make of the same messages.
TEST(EventRecord, Scalar) { EXPECT_EQ(hex(scalar_event("loss", 0.5)), "2a0d0a0b0a046c6f7373150000003f"); }

TEST(EventRecord, Histogram) {
  const Histogram histogram{
      .min = -1, .max = 3, .count = 4, .sum = 4, .sum_of_squares = 12, .limits = {1, 3}, .counts = {1, 3}};
  EXPECT_EQ(hex(histogram_event("h", histogram)),
            "2a580a560a01682a5109000000000000f0bf1100000000000008401900000000000010402100000000000010402900000000000028"
            "403210000000000000f03f00000000000008403a10000000000000f03f0000000000000840");
}

TEST(EventRecord, Image) {
  EXPECT_EQ(hex(image_event("i", {.height = 2, .width = 300, .channels = 3, .bytes = "png"})),
            "2a130a110a0169220c080210ac0218032203706e67");
}

TEST(EventRecord, Text) {
  EXPECT_EQ(hex(text_event("t", "# x")), "2a1e0a1c0a0174420d080712041202080142032320784a080a060a0474657874");
}

TEST(EventRecord, Restart) { EXPECT_EQ(hex(restart_event()), "3a020801"); }

TEST(EventRecord, Version) { EXPECT_EQ(hex(version_event()), "1a0d627261696e2e4576656e743a32"); }

TEST(EventRecord, Experiment) {
  const std::vector<HParam> hparams = {
      {.name = "lr", .value = 0.1, .leading = true}, {.name = "opt", .value = "adam"}, {.name = "on", .value = true}};
  const std::vector<std::string> metrics = {"acc"};
  EXPECT_EQ(hex(experiment_event(hparams, metrics)),
            "2a570a550a145f68706172616d735f2f6578706572696d656e744a3d0a3b0a0768706172616d731230122e22080a026c7220033801"
            "22070a036f707420012"
            "2100a026f6e20022a080a0220000a0220012a070a051203616363");
}

TEST(EventRecord, Session) {
  const std::vector<HParam> hparams = {
      {.name = "lr", .value = 0.1}, {.name = "on", .value = true}, {.name = "opt", .value = "adam"}};
  EXPECT_EQ(hex(session_start_event(hparams, 1)),
            "2a640a620a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f4a420a400a0768706172616d7312351a330a0f"
            "0a026c721209119a9999999999b93f0a080a026f6e120220010a0d0a036f707412061a046164616d29000000000000f03f");
  EXPECT_EQ(hex(session_end_event(false, 2)),
            "2a3a0a380a1a5f68706172616d735f2f73657373696f6e5f656e645f696e666f4a1a0a180a0768706172616d73120d220b08021100"
            "00000000000040");
  EXPECT_NE(session_end_event(true, 2), session_end_event(false, 2));
}

}  // namespace
}  // namespace lockring::app
