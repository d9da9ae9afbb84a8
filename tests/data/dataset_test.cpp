#include "data/dataset.h"

#include "data/dataset_store.h"
#include "data/ingest.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace lockring::data {
namespace {

// The published set, which scripts/setup installs.
TEST(FashionMnist, IsIngestedAndLoaded) {
  const auto data_dir = std::filesystem::path(testing::TempDir()) / "fashion";
  std::filesystem::remove_all(data_dir);
  IngestOptions options;
  options.data_dir = data_dir;
  const IngestReport first = ingest(options);
  EXPECT_FALSE(first.already_there);
  EXPECT_TRUE(ingest(options).already_there);
  const Dataset dataset = load_dataset(data_dir);
  EXPECT_EQ(dataset.digest, "14410854cf7a289477dcfc7df3f8ec24741e281cdcc425ede0d9a748ca630214");
  EXPECT_EQ(dataset.train.images.shape(), (Shape{60000, 28, 28, 1}));
  EXPECT_EQ(dataset.test.images.shape(), (Shape{10000, 28, 28, 1}));
  EXPECT_EQ(dataset.classes[9], "Ankle boot");
  EXPECT_NEAR(dataset.statistics.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(dataset.statistics.deviation[0], 0.3530, 5e-5);
  EXPECT_NO_THROW(verify_dataset(data_dir));
  std::filesystem::remove_all(data_dir);
}

}  // namespace
}  // namespace lockring::data
