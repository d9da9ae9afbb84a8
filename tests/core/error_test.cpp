#include "core/error.h"

#include "core/device.h"
#include "core/dtype.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

TEST(Error, CarriesCodeAndMessage) {
  const Error error(ErrorCode::data, "no such file");
  EXPECT_EQ(error.code(), ErrorCode::data);
  EXPECT_STREQ(error.what(), "no such file");
}

TEST(Error, CodesAreExitCodes) {
  EXPECT_EQ(exit_code(ErrorCode::other), 1);
  EXPECT_EQ(exit_code(ErrorCode::usage), 2);
  EXPECT_EQ(exit_code(ErrorCode::data), 3);
  EXPECT_EQ(exit_code(ErrorCode::device), 4);
  EXPECT_EQ(exit_code(ErrorCode::diverged), 5);
}

TEST(Error, CheckThrowsOnlyWhenWrong) {
  EXPECT_NO_THROW(check(true, "{}", 1));
  EXPECT_NO_THROW(check(true, ErrorCode::data, "{}", 1));
  expect_error(ErrorCode::usage, "3 is not 4", [] { check(false, "{} is not {}", 3, 4); });
  expect_error(ErrorCode::device, "gone: gpu", [] { check(false, ErrorCode::device, "gone: {}", "gpu"); });
  expect_error(ErrorCode::diverged, "step 7", [] { fail(ErrorCode::diverged, "step {}", 7); });
}

TEST(Device, HasAName) {
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(Device{DeviceKind::cuda, 3}), "cuda:3");
  EXPECT_NE((Device{DeviceKind::cuda, 0}), Device{});
}

TEST(DType, HasASizeAndAName) {
  for (const auto& [dtype, size, name] : {std::tuple{DType::f32, 4, "F32"},
                                          {DType::u8, 1, "U8"},
                                          {DType::i32, 4, "I32"},
                                          {DType::i64, 8, "I64"},
                                          {DType::bf16, 2, "BF16"},
                                          {DType::f16, 2, "F16"}}) {
    EXPECT_EQ(size_of(dtype), size);
    EXPECT_EQ(name_of(dtype), name);
  }
}

}  // namespace
}  // namespace lockring
