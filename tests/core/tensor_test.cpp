#include "core/tensor.h"

#include "core/allocator.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace lockring {
namespace {

TEST(Tensor, IsUndefinedByDefault) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(tensor.raw(), nullptr);
}

TEST(Tensor, FactoriesFill) {
  expect_values(Tensor::zeros({2, 2}), {0, 0, 0, 0}, 0);
  expect_values(Tensor::full({3}, 1.5F), {1.5F, 1.5F, 1.5F}, 0);
  expect_values(Tensor::from({1, 2, 3, 4}, {2, 2}), {1, 2, 3, 4}, 0);
  EXPECT_EQ(Tensor::full({}, 4).item(), 4);
}

TEST(Tensor, DTypeDecidesTheBytes) {
  EXPECT_EQ(Tensor::empty({3, 5}).bytes(), 60);
  EXPECT_EQ(Tensor::empty({3, 5}, DType::u8).bytes(), 15);
  EXPECT_EQ(Tensor::empty({3, 5}, DType::i64).bytes(), 120);
  EXPECT_EQ(Tensor::empty({3, 5}, DType::bf16).bytes(), 30);
}

TEST(Tensor, FromTakesTheTypeOfItsValues) {
  const std::vector<std::int32_t> labels = {3, 1, 2};
  const Tensor tensor = Tensor::from(std::span<const std::int32_t>(labels), {3});
  EXPECT_EQ(tensor.dtype(), DType::i32);
  EXPECT_EQ(tensor.data<std::int32_t>()[2], 2);
}

TEST(Tensor, FromRejectsAnotherNumberOfValues) {
  expect_error(ErrorCode::usage, "[2, 2] needs 4 values, not 3", [] { Tensor::from({1, 2, 3}, {2, 2}); });
}

TEST(Tensor, EmptyTensorsWork) {
  const Tensor tensor = Tensor::zeros({0, 7});
  EXPECT_TRUE(tensor.defined());
  EXPECT_EQ(tensor.bytes(), 0);
  EXPECT_EQ(tensor.clone().shape(), tensor.shape());
  EXPECT_EQ(tensor.slice(0, 0).shape(), Shape({0, 7}));
  EXPECT_EQ(Tensor::from({}, {0}).elements(), 0);
}

TEST(Tensor, TooLargeIsAnError) {
  const std::int64_t before = allocator_stats().system_bytes;
  expect_error(ErrorCode::device, "out of memory", [] { Tensor::empty({std::int64_t{1} << 62}); });
  expect_error(ErrorCode::device, "out of memory", [] { Tensor::empty({std::int64_t{1} << 62, 2 - 1}, DType::i64); });
  expect_error(ErrorCode::device, "out of memory", [] { Tensor::zeros({std::int64_t{1} << 45}); });
  EXPECT_EQ(allocator_stats().system_bytes, before);
}

TEST(Tensor, CopiesAndViewsShareMemory) {
  Tensor tensor = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor copy = tensor;
  const Tensor view = tensor.view({3, 2});
  tensor.data()[4] = 50;
  EXPECT_EQ(copy.data()[4], 50);
  expect_near(view, Tensor::from({1, 2, 3, 4, 50, 6}, {3, 2}), 0);
  EXPECT_EQ(view.storage(), tensor.storage());
}

TEST(Tensor, AViewKeepsTheNumberOfElements) {
  expect_error(ErrorCode::usage, "[2, 3] cannot be seen as [4]", [] { Tensor::zeros({2, 3}).view({4}); });
}

TEST(Tensor, SlicesShareRows) {
  const Tensor tensor = Tensor::from({1, 2, 3, 4, 5, 6}, {3, 2});
  Tensor rows = tensor.slice(1, 3);
  expect_near(rows, Tensor::from({3, 4, 5, 6}, {2, 2}), 0);
  rows.data()[0] = 30;
  EXPECT_EQ(tensor.data()[2], 30);
  expect_near(rows.slice(1, 2), Tensor::from({5, 6}, {1, 2}), 0);
  EXPECT_EQ(tensor.slice(3, 3).elements(), 0);
  expect_values(rows.view({4}).slice(1, 3), {4, 5}, 0);
}

TEST(Tensor, SlicesOutsideAreErrors) {
  const Tensor tensor = Tensor::zeros({3, 2});
  for (const auto& [begin, end] : {std::pair{-1, 2}, {2, 1}, {0, 4}, {4, 4}})
    expect_error(ErrorCode::usage, "of shape [3, 2]",
                 [&, begin = begin, end = end] { return tensor.slice(begin, end); });
  expect_error(ErrorCode::usage, "of shape []", [] { return Tensor::zeros({}).slice(0, 1); });
}

TEST(Tensor, SlicesOfBytesCountInBytes) {
  Tensor tensor = Tensor::zeros({4, 3}, DType::u8);
  tensor.data<std::uint8_t>()[6] = 9;
  EXPECT_EQ(tensor.slice(2, 3).data<std::uint8_t>()[0], 9);
}

// A view on memory that is there only in name: nothing is read.
TEST(Tensor, OffsetsBeyond32BitsWork) {
  constexpr std::int64_t kRows = 100'000;
  constexpr std::int64_t kColumns = 1'000'000;
  char first = 0;
  const Storage storage = Storage::wrap(&first, kRows * kColumns * 4, nullptr);
  const Tensor tensor = Tensor::view_of(storage, 0, {kRows, kColumns});
  EXPECT_EQ(tensor.bytes(), 400'000'000'000);
  const Tensor rows = tensor.slice(99'000, 99'002);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(rows.raw()) - reinterpret_cast<std::uintptr_t>(&first), 396'000'000'000);
  EXPECT_EQ(rows.elements(), 2'000'000);
  EXPECT_EQ(tensor.view({kColumns, kRows}).slice(999'999, 1'000'000).elements(), kRows);
}

TEST(Tensor, ViewOfStartsAtItsOffset) {
  const Tensor arena = Tensor::from({1, 2, 3, 4}, {4});
  expect_values(Tensor::view_of(arena.storage(), 8, {2}), {3, 4}, 0);
}

TEST(Tensor, ClonesAreTheirOwn) {
  Tensor tensor = Tensor::from({1, 2, 3, 4}, {2, 2});
  const Tensor clone = tensor.slice(1, 2).clone();
  tensor.data()[2] = 30;
  expect_near(clone, Tensor::from({3, 4}, {1, 2}), 0);
  EXPECT_TRUE(clone.storage().unique());
}

TEST(Tensor, ItemIsForOneElement) {
  EXPECT_EQ(Tensor::from({2.5F}, {1, 1}).item(), 2.5F);
  expect_error(ErrorCode::usage, "[2]", [] { return Tensor::zeros({2}).item(); });
}

TEST(Tensor, KeepsWrappedMemoryAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  float* data = owner->data();
  Tensor tensor = Tensor::view_of(Storage::wrap(data, 12, owner), 4, {2});
  const std::weak_ptr<std::vector<float>> observer = owner;
  owner.reset();
  expect_values(tensor, {2, 3}, 0);
  tensor = Tensor();
  EXPECT_TRUE(observer.expired());
}

}  // namespace
}  // namespace lockring
