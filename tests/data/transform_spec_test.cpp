#include "data/transform.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

TEST(TransformSpec, IsCanonical) {
  const ChannelStatistics statistics{{0.2860406f}, {0.35302424f}};
  EXPECT_EQ(to_string(Transform()), "");
  EXPECT_EQ(to_string(Transform::parse("")), "");
  EXPECT_EQ(to_string(Transform::parse("flip,crop:2,normalize", statistics)),
            "normalize:0.2860406:0.35302424,crop:2,flip");
  EXPECT_EQ(to_string(Transform::parse("erase:0.5,grayscale,resize:28")), "resize:28x28,grayscale,erase:0.5:0.02:0.33");
  for (const char* spec :
       {"", "flip", "crop:12", "normalize:0.25:0.5", "normalize:0.1/0.2/0.3:1/2/3,crop:1,flip",
        "resize:28x32,grayscale,normalize:0.5:0.5,rotate:7.5,crop:2,flip:alternate,erase:0.25:0.1:0.2,cutout:8,"
        "mixup:0.2,tta:shift"})
    EXPECT_EQ(to_string(Transform::parse(spec)), spec);
}

TEST(TransformSpec, RejectsMistakes) {
  const auto expect_bad = [](std::string_view spec, std::string_view part) {
    expect_error(ErrorCode::usage, part, [&] { Transform::parse(spec, {{0.5f}, {0.0f}}); });
  };
  expect_bad("corp:2", "found 'corp' (did you mean 'crop'?)");
  expect_bad("normalise:1:1", "did you mean 'normalize'?");
  expect_bad("flip,", "found ''");
  expect_bad("flip, crop:2", "found ' crop'");
  expect_bad("crop", "expected 1 values of 'crop', found 0");
  expect_bad("crop:2:3", "found 2");
  expect_bad("crop:0", "expected 1 to 1024 pixels");
  expect_bad("crop:-1", "expected 1 to 1024 pixels");
  expect_bad("crop:99999999999999999999", "expected a number");
  expect_bad("crop:2.5", "expected a number, found '2.5'");
  expect_bad("flip:1", "expected alternate, found '1'");
  expect_bad("flip:alternat", "did you mean 'alternate'?");
  expect_bad("normalize:0:1e-40", "give numbers above");
  expect_bad("normalize:1e30:1e-30", "give numbers above");
  expect_bad("normalize:nan:1", "a finite number");
  expect_bad("rotate:0", "expected 0.01 to 180 degrees");
  expect_bad("rotate:nan", "expected 0.01 to 180 degrees");
  expect_bad("erase:0", "a probability above 0");
  expect_bad("erase:0.5:0.1", "expected 1 or 3 values of 'erase', found 2");
  expect_bad("erase:0.5:0.3:0.1", "the least share of the area before the most");
  expect_bad("erase:1.5", "expected 0 to 1 as the probability");
  expect_bad("cutout:0", "expected 1 to 65536 pixels");
  expect_bad("mixup:2", "expected 0.05 to 1 as alpha");
  expect_bad("resize:0", "expected sizes from 1 to 65536");
  expect_bad("resize:8x8x8", "resize:HEIGHTxWIDTH");
  expect_bad("resize:8x", "expected a number, found ''");
  expect_bad("grayscale:1", "expected 0 values of 'grayscale', found 1");
  expect_bad("tta", "expected 1 values of 'tta', found 0");
  expect_bad("tta:flap", "expected flip or shift, found 'flap' (did you mean 'flip'?)");
  expect_bad("flip,flip", "flip is given twice");
  expect_bad("crop:1,crop:1", "crop is given twice");
  expect_bad("normalize:1:1,normalize:1:1", "normalize is given twice");
  expect_bad("normalize:0.5", "expected 0 or 2 values of 'normalize', found 1");
  expect_bad("normalize:0.5:0", "a deviation above 0, found 0");
  expect_bad("normalize:nan:1", "expected a finite number");
  expect_bad("normalize:1/2:1", "as many means as deviations, found 2 and 1");
  expect_bad("normalize", "a deviation above 0");
  expect_error(ErrorCode::usage, "no statistics are known", [] { Transform::parse("normalize"); });
}

}  // namespace
}  // namespace lockring::data
