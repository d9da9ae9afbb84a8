#include "apps/train/epoch_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace lockring::app {
namespace {

EpochReport example() {
  return {.epoch = 3,
          .epochs = 10,
          .step = 1266,
          .learning_rate = 1e-3,
          .train_loss = 0.3124,
          .train_accuracy = 0.8871,
          .validated = true,
          .val_loss = 0.301,
          .val_accuracy = 0.8902,
          .best = true,
          .timing = {.seconds = 3, .data_seconds = 0.015, .images = 54690},
          .resident_bytes = 123456};
}

TEST(EpochReport, IsALineForPeople) {
  EXPECT_EQ(report_line(example()),
            "epoch 3/10  loss 0.3124  acc 0.8871  val_loss 0.3010  val_acc 0.8902 *  lr 0.001  18,230 img/s  wait 0.5 "
            "%");
  EpochReport plain = example();
  plain.validated = false;
  EXPECT_EQ(report_line(plain), "epoch 3/10  loss 0.3124  acc 0.8871  lr 0.001  18,230 img/s  wait 0.5 %");
}

TEST(EpochReport, IsAnObjectForPrograms) {
  const nlohmann::json json = nlohmann::json::parse(report_json(example()));
  EXPECT_EQ(json["epoch"], 3);
  EXPECT_EQ(json["step"], 1266);
  EXPECT_EQ(json["train_loss"], 0.3124);
  EXPECT_EQ(json["val_accuracy"], 0.8902);
  EXPECT_EQ(json["images_per_second"], 18230);
  EXPECT_EQ(json["data_wait_fraction"], 0.005);
  EXPECT_EQ(json["resident_bytes"], 123456);
  EXPECT_EQ(report_json(example()).find('\n'), std::string::npos);
}

TEST(EpochReport, WhatIsNotFiniteIsNull) {
  EpochReport report = example();
  report.val_loss = std::nan("");
  EXPECT_TRUE(nlohmann::json::parse(report_json(report))["val_loss"].is_null());
  report.validated = false;
  EXPECT_FALSE(nlohmann::json::parse(report_json(report)).contains("val_loss"));
}

TEST(Timing, OfNothingIsNothing) {
  const Timing none;
  EXPECT_EQ(none.images_per_second(), 0);
  EXPECT_EQ(none.data_wait_fraction(), 0);
  Timing sum = example().timing;
  sum.add(example().timing);
  EXPECT_EQ(sum.images_per_second(), 18230);
  EXPECT_EQ(sum.seconds, 6);
}

}  // namespace
}  // namespace lockring::app
