// What ingestion makes of each format, and what the stored set gives back.
#include "core/files.h"
#include "data/catalog.h"
#include "data/class_names.h"
#include "data/dataset.h"
#include "data/dataset_store.h"
#include "data/ingest.h"
#include "data/stored_dataset.h"
#include "tests/data/child_process.h"
#include "tests/data/small_files.h"
#include "tests/data/small_folders.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class FormatsTest : public testing::Test {
 protected:
  FormatsTest() {
    options_.source = source_.string();
    options_.name = "small";
    options_.data_dir = folder_ / "data";
    options_.notice = [this](const std::string& text) { notices_ += text + "\n"; };
    options_.warning = [this](const std::string& text) { warnings_ += text + "\n"; };
  }

  void write_folder(std::uint32_t dog_width = 4) const {
    write_images(source_ / "train/cat", 3, 10);
    write_images(source_ / "train/dog", 2, 100, dog_width);
    write_images(source_ / "test/cat", 1, 50);
    write_images(source_ / "test/dog", 2, 150);
  }
  std::string digest() const { return ingest(options_).manifest.digest; }
  StoredDataset opened() const { return open_dataset(options_.data_dir, options_.name); }
  std::size_t versions() const { return dataset_info(options_.data_dir, options_.name).versions.size(); }
  void expect_bad(std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] { ingest(options_); });
    EXPECT_FALSE(fs::exists(options_.data_dir / options_.name / "current"));
  }

  TemporaryDirectory folder_;
  fs::path source_ = folder_ / "source";
  IngestOptions options_;
  std::string notices_;
  std::string warnings_;
};

TEST_F(FormatsTest, ImagesOfOneSizeAreStoredAsIdx) {
  write_folder();
  const IngestReport report = ingest(options_);
  EXPECT_EQ(read_file(report.directory / "train-images-idx4-ubyte").size(), 20u + 5 * 3 * 4 * 3);
  EXPECT_EQ(read_file(report.directory / "classes.txt"), "cat\ndog\n");
  const Dataset dataset = load_dataset(options_.data_dir, "small");
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(dataset.train.images->shape(), (Shape{5, 3, 4, 3}));
  EXPECT_EQ(dataset.train.images->copy(4, 5).data<std::uint8_t>()[0], 110);
  EXPECT_EQ(dataset.test.labels.data<std::uint8_t>()[2], 1);
  // Values 10, 20, 30, 100 and 110.
  EXPECT_FLOAT_EQ(dataset.statistics.mean[2], 54.0f / 255);
  EXPECT_EQ(opened().train.images->copy(4, 5).data<std::uint8_t>()[0], 110);
  EXPECT_TRUE(ingest(options_).already_there);
  verify_dataset(options_.data_dir, "small");
}

TEST_F(FormatsTest, ImagesOfManySizesKeepTheirFiles) {
  write_folder(7);
  const IngestReport report = ingest(options_);
  EXPECT_EQ(report.manifest.sizes, (ImageSizes{3, 3, 4, 7, 3}));
  const StoredDataset dataset = opened();
  ASSERT_NE(dataset.train.encoded, nullptr);
  EXPECT_EQ(dataset.train.images, nullptr);
  ASSERT_EQ(dataset.train.encoded->size(), 5);
  EXPECT_EQ(dataset.train.encoded->read(4).width, 7);
  EXPECT_EQ(dataset.train.encoded->read(4).pixels[0], 110);
  EXPECT_EQ(dataset.test.encoded->read(0).width, 4);
  EXPECT_EQ(dataset.train.labels.data<std::uint8_t>()[3], 1);
  // Weighted by pixels: 36 of 10, 20 and 30 each, 63 of 100 and 110 each.
  EXPECT_NEAR(dataset.manifest.statistics.mean[0], (12 * 60 + 21 * 210) / 78.0 / 255, 1e-6);
  expect_error(ErrorCode::usage, "many sizes, from 3x4 to 3x7: they need a resize",
               [&] { load_dataset(options_.data_dir, "small"); });
  verify_dataset(options_.data_dir, "small");
  flip_bit(report.directory / "train-images.tar", 600);
  expect_error(ErrorCode::data, "train-images.tar: damaged", [&] { verify_dataset(options_.data_dir, "small"); });
}

TEST_F(FormatsTest, AnUnpackedArchiveIsTheSameData) {
  write_folder(7);
  const IngestReport report = ingest(options_);
  for (const auto& [archive, split] : {std::pair("train-images.tar", "train"), std::pair("t10k-images.tar", "test")}) {
    fs::create_directories(folder_ / "unpacked" / split);
    const std::string command = fmt::format("tar -xf '{}' -C '{}'", (report.directory / archive).string(),
                                            (folder_ / "unpacked" / split).string());
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  options_.source = folder_ / "unpacked";
  EXPECT_EQ(digest(), report.manifest.digest);
}

TEST_F(FormatsTest, TheDigestIsThatOfTheFiles) {
  write_folder();
  const IngestReport report = ingest(options_);
  std::string content;
  for (const char* name :
       {"train-images-idx4-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx4-ubyte", "t10k-labels-idx1-ubyte"})
    content += read_file(report.directory / name);
  EXPECT_EQ(report.manifest.digest, sha256(sha256(content) + "\ncat\ndog\n"));
}

TEST_F(FormatsTest, TheDigestDoesNotDependOnPlacesAndTimes) {
  write_folder();
  const std::string first = digest();
  fs::rename(source_, folder_ / "moved");
  options_.source = folder_ / "moved";
  fs::last_write_time(folder_ / "moved/train/cat/0.png", fs::file_time_type::clock::now() + std::chrono::hours(1));
  // Other names in the same order, made in another order.
  fs::rename(folder_ / "moved/train/cat/1.png", folder_ / "moved/train/cat/1.PNG");
  const IngestReport second = ingest(options_);
  EXPECT_EQ(second.manifest.digest, first);
  EXPECT_TRUE(second.already_there);
  EXPECT_NE(second.reason.find("ingested before"), std::string::npos);
}

TEST_F(FormatsTest, EveryChangeOfContentOrClassIsANewVersion) {
  write_folder();
  std::set<std::string> digests = {digest()};
  const auto expect_new = [&](const char* what) {
    EXPECT_TRUE(digests.insert(digest()).second) << what;
    EXPECT_EQ(versions(), digests.size()) << what;
  };
  write(source_ / "train/cat/2.png", plain_png(4, 3, 31));
  expect_new("a pixel");
  fs::rename(source_ / "train/cat/2.png", source_ / "train/cat/00.png");
  expect_new("the order");
  fs::rename(source_ / "train/cat/00.png", source_ / "train/dog/00.png");
  expect_new("the class of an image");
  fs::rename(source_ / "train/dog", source_ / "train/eel");
  fs::rename(source_ / "test/dog", source_ / "test/eel");
  expect_new("the name of a class");
  fs::remove(source_ / "test/eel/1.png");
  expect_new("an image less");
}

TEST_F(FormatsTest, OldVersionsStayAndCanBeNamed) {
  write_folder();
  const std::string first = digest();
  write_images(source_ / "train/cat", 4, 10);
  const std::string second = digest();
  EXPECT_EQ(load_dataset(options_.data_dir, "small").digest, second);
  EXPECT_EQ(load_dataset(options_.data_dir, "small@" + first.substr(0, 6)).digest, first);
  const DatasetInfo info = dataset_info(options_.data_dir, "small@" + first.substr(0, 16));
  EXPECT_EQ(info.manifest.digest, first);
  ASSERT_EQ(info.versions.size(), 2u);
  for (const StoredVersion& version : info.versions) {
    EXPECT_EQ(version.current, version.manifest.digest == second);
    EXPECT_TRUE(second.starts_with(version.name) || first.starts_with(version.name));
  }
  expect_error(ErrorCode::data, "expected one version that starts with 'x', found none among",
               [&] { load_dataset(options_.data_dir, "small@x"); });
  expect_error(ErrorCode::data, "expected one version", [&] { load_dataset(options_.data_dir, "small@"); });
}

TEST_F(FormatsTest, ADamagedVersionIsListed) {
  write_folder();
  const fs::path directory = ingest(options_).directory;
  write_images(source_ / "train/cat", 4, 10);
  ingest(options_);
  write(directory / "manifest.json", "{");
  const DatasetInfo info = dataset_info(options_.data_dir, "small");
  ASSERT_EQ(info.versions.size(), 2u);
  EXPECT_EQ(info.versions[0].name, directory.filename());
  EXPECT_EQ(info.versions[0].manifest.ingested_utc, "");
}

TEST_F(FormatsTest, NamesOfClassesBesideIdxFiles) {
  write_dataset(source_, small_dataset());
  const std::string numbered = digest();
  const std::string names = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
  write(source_ / kClassFile, names);
  const IngestReport report = ingest(options_);
  EXPECT_EQ(report.manifest.classes[1], "b");
  EXPECT_EQ(report.manifest.digest, sha256(numbered + "\n" + names));
  // Its own store, names and all.
  options_.source = report.directory;
  EXPECT_EQ(digest(), report.manifest.digest);
  // Names that would be assumed anyway are no news.
  options_.source = source_;
  write(source_ / kClassFile, class_file_text(numbered_classes(10)));
  EXPECT_EQ(digest(), numbered);
}

TEST_F(FormatsTest, AsManyClassesAsLabels) {
  auto files = small_dataset();
  files[1][8 + 29] = '\xff';
  write_dataset(source_, files);
  const IngestReport report = ingest(options_);
  EXPECT_EQ(report.manifest.classes.size(), 256u);
  EXPECT_EQ(report.manifest.classes[255], "255");
  EXPECT_NE(notices_.find("classes without any image: 10, 11,"), std::string::npos) << notices_;
  EXPECT_NE(notices_.find("classes without test images: 255"), std::string::npos) << notices_;
  EXPECT_EQ(load_dataset(options_.data_dir, "small").classes.size(), 256u);
}

TEST_F(FormatsTest, AClassThatIsOnlyTestedIsAnError) {
  auto files = small_dataset();
  files[3][8 + 7] = 11;
  write_dataset(source_, files);
  expect_bad("class '11' (label 11) has 1 test images but no training images");
}

TEST_F(FormatsTest, MnistUnderTheNameOfFashionMnistIsAWarning) {
  const ContentMarks& marks = find_known_dataset("mnist")->marks;
  write_dataset(source_, labelled_dataset(marks.train_per_class, marks.test_per_class));
  options_.name = "fashion-mnist";
  const IngestReport report = ingest(options_);
  EXPECT_NE(warnings_.find("these are the files of mnist, stored under the name fashion-mnist"), std::string::npos);
  EXPECT_EQ(report.manifest.classes[0], "0");
  EXPECT_EQ(load_dataset(options_.data_dir).warning + "\n", warnings_);
  // And again, though nothing is to be done.
  warnings_.clear();
  EXPECT_TRUE(ingest(options_).already_there);
  EXPECT_NE(warnings_.find("files of mnist"), std::string::npos);
  warnings_.clear();
  options_.name = "mnist";
  ingest(options_);
  options_.name = "digits";
  ingest(options_);
  EXPECT_EQ(warnings_, "");
  EXPECT_NE(notices_.find("the files are those of mnist, stored under the name digits"), std::string::npos);
}

TEST_F(FormatsTest, AFullDiskLeavesNothing) {
  write_images(source_ / "train/cat", 2, 0, 400, 400);
  write_images(source_ / "test/cat", 2, 0, 400, 400);
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_error(ErrorCode::data, "cannot write", [&] { ingest(options_); });
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  for (const auto& entry : fs::directory_iterator(options_.data_dir / "small"))
    EXPECT_EQ(entry.path().filename(), ".lock");
  EXPECT_FALSE(ingest(options_).already_there);
}

TEST_F(FormatsTest, FoldersThatVanishAreErrors) {
  write_folder();
  options_.progress = [&](auto...) { fs::remove_all(source_); };
  expect_bad("cannot read");
  write_folder();
  options_.progress = [&](auto...) { fs::remove_all(options_.data_dir); };
  expect_bad("");
  options_.progress = nullptr;
  EXPECT_FALSE(ingest(options_).already_there);
}

}  // namespace
}  // namespace lockring::data
