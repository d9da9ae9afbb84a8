#include "core/files.h"
#include "tests/apps/scoped_variable.h"
#include "tests/apps/small_bundle.h"
#include "tests/data/small_files.h"
#include "tests/data/small_images.h"

#include <png.h>
#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

class PredictTest : public SmallBundleTest {
 protected:
  PredictTest() { data::write(directory_ / "images.gz", data::gzip(data::small_dataset()[2])); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    data::write(directory_ / name, content);
    return path(name);
  }
  // The bytes of a test image, [6][5].
  std::string pixels(std::int64_t sample) const {
    const Tensor image = dataset().test.images->copy(sample, sample + 1);
    const std::span bytes = std::as_const(image).values<std::uint8_t>();
    return {bytes.begin(), bytes.end()};
  }
  Json predict(std::vector<std::string> more, int code = 0) const {
    more.emplace_back("--json");
    const CapturedRun result = run("predict", more);
    EXPECT_EQ(result.code, code) << result.err;
    return Json::parse(result.out);
  }
};

// What a prediction says but for where the image came from.
Json answer(Json prediction) {
  prediction.erase("input");
  prediction.erase("true_class");
  prediction.erase("inverted");
  return prediction;
}

TEST_F(PredictTest, TheSameImageGetsTheSameAnswerHoweverItIsStored) {
  std::string dark = pixels(1);
  for (char& pixel : dark) pixel = static_cast<char>(static_cast<std::uint8_t>(pixel) / 4);  // never inverted
  const std::string png = file("a.png", data::png_file({5, 6, 8, PNG_COLOR_TYPE_GRAY, false, {}}, dark));
  const std::string idx = file("a-idx", data::idx_file({1, 6, 5}).substr(0, 16) + dark);
  const std::string packed = file("b-idx.gz", data::gzip(read_file(idx)));
  const Json report = predict({png, idx, packed});
  ASSERT_EQ(report["predictions"].size(), 3u);
  EXPECT_EQ(report["predictions"][0]["input"], png);
  EXPECT_EQ(report["predictions"][1]["input"], idx + "[0]");
  EXPECT_EQ(answer(report["predictions"][0]), answer(report["predictions"][1]));
  EXPECT_EQ(answer(report["predictions"][0]), answer(report["predictions"][2]));
  EXPECT_EQ(report["failures"], Json::array());
}

TEST_F(PredictTest, ProbabilitiesAreThoseOfTheClasses) {
  const Json report = predict({path("images.gz") + "[4]", "--top", "99"});
  const Json& prediction = report["predictions"][0];
  ASSERT_EQ(prediction["top"].size(), 10u);
  double sum = 0;
  double before = 1;
  for (const Json& guess : prediction["top"]) {
    EXPECT_LE(guess["probability"], before);
    before = guess["probability"];
    sum += before;
    EXPECT_EQ(guess["class"], std::to_string(guess["label"].get<int>())) << "these classes are called 0 to 9";
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(prediction["label"], prediction["top"][0]["label"]);
  EXPECT_EQ(prediction["probability"], prediction["top"][0]["probability"]);
}

TEST_F(PredictTest, EntriesAndTestSamplesAreTheSameImages) {
  const Json entries = predict({path("images.gz") + "[3:6]"})["predictions"];
  const Json samples = predict({"--test-samples", "3,4,5"})["predictions"];
  ASSERT_EQ(entries.size(), 3u);
  ASSERT_EQ(samples.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer(entries[i]), answer(samples[i]));
    EXPECT_EQ(samples[i]["true_class"], std::to_string(3 + i));
    EXPECT_FALSE(entries[i].contains("true_class"));
    EXPECT_EQ(entries[i]["inverted"], false) << "entries of the model's size are taken as they are";
  }
  EXPECT_EQ(predict({path("images.gz")})["predictions"].size(), 20u);
}

TEST_F(PredictTest, ManyImagesGetTheAnswersThatTheyGetAlone) {
  const std::string idx = file("many", data::idx_file({150, 6, 5}, 3, 11));
  const Json all = predict({idx})["predictions"];
  ASSERT_EQ(all.size(), 150u);
  for (const int i : {0, 63, 64, 149})
    EXPECT_EQ(all[i], predict({fmt::format("{}[{}]", idx, i)})["predictions"][0]) << i;
}

TEST_F(PredictTest, ImagesOfAnySizeAndColourAreFitted) {
  // Of one colour, so that nothing is lost in either format.
  const std::string light(40 * 30 * 3, '\xf0');
  const std::string jpeg = file("a.jpg", data::jpeg_file({40, 30, 3, true}, light));
  const std::string png = file("a.png", data::png_file({40, 30, 8, PNG_COLOR_TYPE_RGB, true, {}}, light));
  const std::string large = file("large", data::idx_file({2, 12, 10, 3}));
  const Json report = predict({jpeg, png, large});
  ASSERT_EQ(report["predictions"].size(), 4u);
  EXPECT_EQ(answer(report["predictions"][0]), answer(report["predictions"][1]));
  EXPECT_NE(answer(report["predictions"][0]), answer(report["predictions"][2]));
  EXPECT_EQ(report["predictions"][0]["inverted"], true) << "the ground is light";
}

TEST_F(PredictTest, ABadFileDoesNotStopTheOthers) {
  const std::string png = file("a.png", data::png_file({5, 6, 8, PNG_COLOR_TYPE_GRAY, false, {}}, pixels(0)));
  const std::string page = file("page.png", "<!DOCTYPE html><html></html>");
  const std::string labels = file("labels", data::label_file(5));
  const std::string broken = file("broken.gz", read_file(path("images.gz")).substr(0, 60));
  const CapturedRun text = run("predict", {page, png, path("nowhere.png"), labels, broken, path("images.gz[0]")});
  EXPECT_EQ(text.code, 3);
  EXPECT_NE(text.out.find("a.png"), std::string::npos);
  EXPECT_NE(text.out.find("images.gz[0]"), std::string::npos);
  for (const char* part : {"page.png: expected a PNG or JPEG image, found an HTML page", "nowhere.png",
                           "labels: expected images", "broken.gz"})
    EXPECT_NE(text.err.find(part), std::string::npos) << text.err;
  EXPECT_EQ(std::ranges::count(text.err, '\n'), 4);

  const Json report = predict({page, png}, 3);
  EXPECT_EQ(report["predictions"].size(), 1u);
  EXPECT_EQ(report["failures"][0]["input"], page);
}

TEST_F(PredictTest, EntriesThatAreNotThere) {
  const std::string png = file("a.png", data::png_file({5, 6, 8, PNG_COLOR_TYPE_GRAY, false, {}}, pixels(0)));
  const auto message = [&](const std::string& argument) {
    const CapturedRun result = run("predict", {argument});
    EXPECT_EQ(result.code, 3) << argument;
    EXPECT_EQ(result.out, "") << argument;
    return result.err;
  };
  const std::string images = path("images.gz");
  EXPECT_NE(message(images + "[20]").find("has 20 images, not one of number 20"), std::string::npos);
  EXPECT_NE(message(images + "[5:21]").find("has 20 images, not one of number 20"), std::string::npos);
  EXPECT_NE(message(images + "[5:5]").find("there are no such entries"), std::string::npos);
  EXPECT_NE(message(images + "[-1]").find("expected entries as [5] or [0:10], found [-1]"), std::string::npos);
  EXPECT_NE(message(images + "[]").find("expected entries as"), std::string::npos);
  EXPECT_NE(message(png + "[0]").find("only IDX files have entries"), std::string::npos);
}

TEST_F(PredictTest, AFileMayHaveBracketsInItsName) {
  const std::string png = file("a[1]", data::png_file({5, 6, 8, PNG_COLOR_TYPE_GRAY, false, {}}, pixels(0)));
  EXPECT_EQ(predict({png})["predictions"].size(), 1u);
}

TEST_F(PredictTest, PrintsAnAlignedTable) {
  const CapturedRun result = run("predict", {path("images.gz") + "[9:11]", "--top", "2"});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::size_t end = result.out.find('\n');
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(result.out.size(), 2 * (end + 1)) << result.out;
}

TEST_F(PredictTest, DrawsTestSamplesWithTheirClasses) {
  const ScopedVariable locale("LC_ALL", "C");
  const CapturedRun result = run("predict", {"--test-samples", "0,7", "--top", "1"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.find("test image 0 "), 0u) << result.out;
  EXPECT_NE(result.out.find("test image 7\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("is 7"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" of 2 right\n"), std::string::npos) << result.out;
  const std::string drawn = run("predict", {path("images.gz") + "[7]", "--draw"}).out;
  EXPECT_EQ(drawn.find("images.gz[7]\n"), 0u) << drawn;
}

TEST_F(PredictTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run("predict").code, 2);
  EXPECT_EQ(run("predict", {"--test-samples", "20"}).code, 2);
  EXPECT_EQ(run("predict", {"--test-samples", "-1"}).code, 2);
  EXPECT_EQ(run("predict", {"--test-samples", "0", "--top", "0"}).code, 2);
  std::filesystem::remove(bundle_);
  EXPECT_EQ(run("predict", {path("images.gz")}).code, 3);
}

}  // namespace
}  // namespace lockring::app
