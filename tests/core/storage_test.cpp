#include "core/storage.h"

#include "core/allocator.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace lockring {
namespace {

TEST(Storage, AllocatesAlignedMemoryOfTheCpu) {
  const Storage storage = Storage::allocate(1000);
  ASSERT_TRUE(storage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage.data()) % 64, 0);
  EXPECT_EQ(storage.bytes(), 1000);
  EXPECT_EQ(storage.device(), Device{});
  static_cast<char*>(storage.data())[999] = 1;
}

TEST(Storage, OfADeviceThatIsNotThereIsAnError) {
  expect_error(ErrorCode::device, "cuda:7", [] { Storage::allocate(10, Device{DeviceKind::cuda, 7}); });
}

TEST(Storage, CopiesShareAndMovesDoNot) {
  Storage a = Storage::allocate(8);
  EXPECT_TRUE(a.unique());
  Storage b = a;
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a.unique());
  const Storage c = std::move(b);
  EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move): what a move leaves behind is the point
  EXPECT_EQ(a.data(), c.data());
  a = Storage::allocate(8);
  EXPECT_NE(a, c);
  EXPECT_TRUE(c.unique());
}

TEST(Storage, AssignmentToItselfKeepsIt) {
  Storage a = Storage::allocate(8);
  const Storage& same = a;
  a = same;
  ASSERT_TRUE(a);
  EXPECT_TRUE(a.unique());
}

TEST(Storage, WrappedMemoryLivesAsLongAsItsLastUser) {
  auto owner = std::make_shared<std::vector<float>>(4, 2.5F);
  const std::weak_ptr<std::vector<float>> observer = owner;
  Storage storage = Storage::wrap(owner->data(), 16, owner);
  EXPECT_EQ(storage.data(), owner->data());
  EXPECT_EQ(storage.bytes(), 16);
  owner.reset();
  Storage copy = storage;
  storage = Storage();
  ASSERT_FALSE(observer.expired());
  EXPECT_EQ(static_cast<float*>(copy.data())[3], 2.5F);
  copy = Storage();
  EXPECT_TRUE(observer.expired());
}

TEST(Storage, TheLastOfManyThreadsFrees) {
  auto owner = std::make_shared<int>(1);
  Storage storage = Storage::wrap(owner.get(), sizeof(int), owner);
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([storage] {
      for (int i = 0; i < 10'000; ++i) const Storage copy = storage;
    });
  storage = Storage();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace lockring
