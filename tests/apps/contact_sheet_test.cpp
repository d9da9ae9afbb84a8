#include "apps/contact_sheet.h"

#include "data/ingest.h"
#include "tests/data/small_files.h"
#include "tests/data/small_folders.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <set>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

class ContactSheetTest : public testing::Test {
 protected:
  data::StoredDataset stored(const fs::path& source) const {
    data::IngestOptions options;
    options.source = source;
    options.name = "small";
    options.data_dir = folder_ / "data";
    data::ingest(options);
    return data::open_dataset(options.data_dir, "small");
  }
  static int pixel(const Tensor& sheet, std::int64_t y, std::int64_t x) {
    return sheet.data<std::uint8_t>()[(y * sheet.size(1) + x) * sheet.size(2)];
  }

  TemporaryDirectory folder_;
};

TEST_F(ContactSheetTest, HasARowForEachClass) {
  data::write_images(folder_ / "source/train/a", 5, 0, 8, 4);
  data::write_images(folder_ / "source/train/b", 2, 101, 8, 4);
  data::write_images(folder_ / "source/test/a", 1, 0, 8, 4);
  const Tensor sheet = contact_sheet(stored(folder_ / "source"), 3);
  // Cells of 64 x 32, gaps of 3, one digit of 12 columns.
  ASSERT_EQ(sheet.shape(), (Shape{3 + 2 * 35, 3 + 12 + 3 * 67, 3}));
  const auto cell = [&](int row, int column) { return pixel(sheet, 3 + 35 * row + 16, 15 + 67 * column + 32); };
  // Spread over the class: images 0, 1 and 3 of five.
  EXPECT_EQ(cell(0, 0), 0);
  EXPECT_EQ(cell(0, 1), 10);
  EXPECT_EQ(cell(0, 2), 30);
  EXPECT_EQ(cell(1, 0), 101);
  EXPECT_EQ(cell(1, 1), 111);
  const int ground = pixel(sheet, 0, 0);
  EXPECT_EQ(cell(1, 2), ground) << "no third image";
  EXPECT_NE(pixel(sheet, 4, 4), ground) << "the label 0";
  EXPECT_EQ(pixel(sheet, 39, 4), ground) << "a 1 has nothing at its left edge there";
}

TEST_F(ContactSheetTest, FitsImagesOfAnySize) {
  data::write_images(folder_ / "source/train/a", 1, 200, 8, 4);
  data::write_images(folder_ / "source/train/b", 1, 200, 10, 200);
  data::write_images(folder_ / "source/test/a", 1, 0, 8, 4);
  const Tensor sheet = contact_sheet(stored(folder_ / "source"), 1);
  ASSERT_EQ(sheet.shape(), (Shape{3 + 2 * 67, 3 + 12 + 67, 3}));
  EXPECT_EQ(pixel(sheet, 3 + 32, 15 + 32), 200);
  EXPECT_EQ(pixel(sheet, 3 + 2, 15 + 32), 0) << "above the flat image";
  EXPECT_EQ(pixel(sheet, 70 + 2, 15 + 32), 200);
  EXPECT_EQ(pixel(sheet, 70 + 32, 15 + 2), 0) << "beside the tall one";
}

TEST_F(ContactSheetTest, GreyImagesMakeAGreySheetAndLabelsAreWide) {
  auto files = data::small_dataset();
  files[1][8 + 3] = '\xff';
  files[3][8 + 3] = '\xff';
  files[3][8 + 13] = '\xff';
  data::write_dataset(folder_ / "source", files);
  const Tensor sheet = contact_sheet(stored(folder_ / "source"), 2);
  ASSERT_EQ(sheet.shape(), (Shape{3 + 256 * 67, 3 + 3 * 12 + 2 * (53 + 3), 1}));
}

// As alpha channels, or what else a fourth is.
TEST_F(ContactSheetTest, ShowsThreeOfFourChannels) {
  data::write_dataset(folder_ / "source", {data::idx_file({10, 2, 2, 4}), data::label_file(10),
                                           data::idx_file({10, 2, 2, 4}), data::label_file(10)});
  EXPECT_EQ(contact_sheet(stored(folder_ / "source"), 1).size(2), 3);
}

}  // namespace
}  // namespace lockring::app
