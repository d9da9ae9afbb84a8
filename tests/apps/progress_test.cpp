#include "apps/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace lockring::app {
namespace {

using Mode = ProgressStyle::Mode;

constexpr ProgressStyle kAscii{.mode = Mode::bar, .utf8 = false, .color = false};
constexpr ProgressStyle kUtf8{.mode = Mode::bar, .utf8 = true, .color = false};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  return text;
}

TEST(ProgressBar, DrawsTheFraction) {
  EXPECT_EQ(progress_bar(0, "x", kAscii, 80), "[--------------------]   0 %  x");
  EXPECT_EQ(progress_bar(0.42, "x", kAscii, 80), "[########------------]  42 %  x");
  EXPECT_EQ(progress_bar(1, "x", kAscii, 80), "[####################] 100 %  x");
  EXPECT_EQ(progress_bar(0.999, "x", kAscii, 80), "[###################-]  99 %  x");
}

TEST(ProgressBar, BoundsWhatIsNotAFraction) {
  EXPECT_EQ(progress_bar(-1, "", kAscii, 80), progress_bar(0, "", kAscii, 80));
  EXPECT_EQ(progress_bar(7, "", kAscii, 80), progress_bar(1, "", kAscii, 80));
  EXPECT_EQ(progress_bar(std::nan(""), "", kAscii, 80), progress_bar(0, "", kAscii, 80));
}

TEST(ProgressBar, DrawsEighthsInUtf8) {
  EXPECT_EQ(progress_bar(0.025 + 0.0001, "", kUtf8, 80), "▕▌                   ▏   2 %  ");
  EXPECT_EQ(progress_bar(1, "", kUtf8, 80), "▕████████████████████▏ 100 %  ");
}

TEST(ProgressBar, IsCutToTheWidth) {
  EXPECT_EQ(progress_bar(0.5, "abcdef", kAscii, 26), "[#####-----]  50 %  abcdef");
  EXPECT_EQ(progress_bar(0.4, "abcdefghijklmn", kAscii, 26), "[#---]  40 %  abcdefghijkl");
  EXPECT_EQ(progress_bar(0.4, "äöüäöüäöüäöü", kAscii, 26), "[#---]  40 %  äöüäöüäöüäöü");
  EXPECT_EQ(progress_bar(0.5, "text", kAscii, 10), "  50 %  te");
  EXPECT_EQ(progress_bar(0.5, "text", kAscii, 0), "");
}

TEST(ProgressBar, ColoursOnlyTheBar) {
  const ProgressStyle style{.mode = Mode::bar, .utf8 = false, .color = true};
  EXPECT_EQ(progress_bar(0, "x", style, 80), "\x1b[36m[--------------------]\x1b[0m   0 %  x");
}

TEST(ProgressLine, DrawsAtMostTenTimesASecond) {
  const FilePointer file(std::tmpfile());
  int texts = 0;
  {
    ProgressLine progress(kAscii, file.get());
    for (int i = 0; i < 1000; ++i) {
      progress.update(i / 1000.0, [&] {
        ++texts;
        return std::string("step");
      });
    }
  }
  EXPECT_GE(texts, 1);
  EXPECT_LE(texts, 10);  // the loop takes far less than a second
  const std::string text = content(file.get());
  EXPECT_EQ(text.rfind("\r[----", 0), 0u) << text;
  EXPECT_EQ(text.back(), '\r') << "an unfinished bar is taken away";
}

TEST(ProgressLine, ALineReplacesTheBar) {
  const FilePointer file(std::tmpfile());
  ProgressLine progress(kAscii, file.get());
  progress.update(0.5, [] { return std::string("half"); });
  progress.line("epoch 1 done");
  const std::string bar = "\r[##########----------]  50 %  half";
  EXPECT_EQ(content(file.get()), bar + "\r" + std::string(bar.size() - 1, ' ') + "\repoch 1 done\n");
}

TEST(ProgressLine, ElsewhereOnlyLinesAreWritten) {
  const FilePointer file(std::tmpfile());
  ProgressLine progress({.mode = Mode::lines}, file.get());
  progress.update(0.5, [] { return std::string("half"); });
  progress.line("epoch 1 done");
  EXPECT_EQ(content(file.get()), "epoch 1 done\n");
}

TEST(ProgressLine, QuietWritesNothing) {
  const FilePointer file(std::tmpfile());
  ProgressLine progress({.mode = Mode::quiet}, file.get());
  progress.update(0.5, [] { return std::string("half"); });
  progress.line("epoch 1 done");
  EXPECT_EQ(content(file.get()), "");
}

TEST(ProgressLine, WarningsAreWrittenInEveryMode) {
  for (const Mode mode : {Mode::quiet, Mode::lines, Mode::bar}) {
    const FilePointer file(std::tmpfile());
    ProgressLine progress({.mode = mode}, file.get());
    progress.warning("cannot write x");
    EXPECT_EQ(content(file.get()), "lockring: warning: cannot write x\n");
  }
}

TEST(ProgressStyle, FollowsTheStream) {
  const FilePointer file(std::tmpfile());
  EXPECT_EQ(progress_style(false, file.get()).mode, Mode::lines);
  EXPECT_EQ(progress_style(true, file.get()).mode, Mode::quiet);
  EXPECT_FALSE(progress_style(false, file.get()).color);
}

}  // namespace
}  // namespace lockring::app
