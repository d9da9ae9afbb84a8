#include "apps/parse.h"

#include "apps/config_file.h"
#include "apps/option_values.h"
#include "core/files.h"
#include "tests/apps/scoped_variable.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <memory>

namespace lockring::app {
namespace {

using Words = std::vector<std::string>;

// A command with an option of every kind, which leaves its values here when it runs.
struct Toy {
  std::string model;
  std::string optimizer = "sgd";
  std::string note = "none";
  double lr = 0.1;
  double share = 0;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 128;
  Words tags = {"a", "b"};
  std::vector<int> sizes;
  bool quiet = false;
  std::string config;
};
Toy result;

Action declare_toy(CLI::App& app) {
  auto toy = std::make_shared<Toy>();
  app.add_option("--model", toy->model)->required();
  app.add_option("--optimizer", toy->optimizer)->check(one_of({"sgd", "adam", "adamw"}));
  app.add_option("--note", toy->note);
  app.add_option("--lr", toy->lr)->check(above(0));
  app.add_option("--share", toy->share)->check(within(0, 1));
  app.add_option("--seed", toy->seed);
  app.add_option("--batch-size", toy->batch_size);
  app.add_option("--tags", toy->tags);
  app.add_option("--sizes", toy->sizes)->delimiter(',');
  app.add_flag("-q,--quiet", toy->quiet);
  app.footer("Example:\n  lockring toy run --model cnn");
  return [toy, &app] {
    toy->config = config_text(app);
    result = *toy;
    return 7;
  };
}

const Command kToy{"toy run", "a toy", declare_toy};

class ParseTest : public testing::Test {
 protected:
  // Parses and runs; the values are in `result`.
  static void run(const Words& arguments) {
    result = {};
    EXPECT_EQ(parse(kToy, arguments)(), 7);
  }
  static void expect_usage_error(const Words& arguments, std::string_view part, int line = __builtin_LINE()) {
    expect_error(
        ErrorCode::usage, part, [&] { parse(kToy, arguments); }, __FILE__, line);
  }
  std::string file(std::string_view text) const {
    write_file(directory_ / "c.toml", text);
    return (directory_ / "c.toml").string();
  }

  TemporaryDirectory directory_;
};

TEST_F(ParseTest, DefaultsStandWithoutAnySource) {
  run({"--model", "cnn"});
  EXPECT_EQ(result.model, "cnn");
  EXPECT_EQ(result.batch_size, 128);
  EXPECT_EQ(result.tags, (Words{"a", "b"}));
  EXPECT_FALSE(result.quiet);
}

TEST_F(ParseTest, FlagWinsOverVariableOverFile) {
  const std::string config = file("model = 'from-file'\nbatch-size = 1\nlr = 0.5\n");
  run({"--config", config});
  EXPECT_EQ(result.batch_size, 1);
  EXPECT_EQ(result.model, "from-file");

  const ScopedVariable variable("LOCKRING_BATCH_SIZE", "2");
  run({"--config", config});
  EXPECT_EQ(result.batch_size, 2);
  EXPECT_EQ(result.lr, 0.5);

  run({"--config", config, "--batch-size=3"});
  EXPECT_EQ(result.batch_size, 3);
  EXPECT_EQ(result.lr, 0.5);
}

TEST_F(ParseTest, PrecedenceHoldsForFlagsAndLists) {
  const std::string config = file("model = 'm'\nquiet = true\ntags = ['f', 'g']\nsizes = [1, 2]\n");
  run({"--config", config});
  EXPECT_TRUE(result.quiet);
  EXPECT_EQ(result.tags, (Words{"f", "g"}));
  EXPECT_EQ(result.sizes, (std::vector<int>{1, 2}));

  const ScopedVariable quiet("LOCKRING_QUIET", "false");
  const ScopedVariable sizes("LOCKRING_SIZES", "3,4,5");
  run({"--config", config, "--tags", "x"});
  EXPECT_FALSE(result.quiet);
  EXPECT_EQ(result.tags, Words{"x"});
  EXPECT_EQ(result.sizes, (std::vector<int>{3, 4, 5}));
}

TEST_F(ParseTest, EmptyVariableCountsAsUnset) {
  const ScopedVariable variable("LOCKRING_BATCH_SIZE", "");
  run({"--model", "cnn", "--config", file("batch-size = 9")});
  EXPECT_EQ(result.batch_size, 9);
}

TEST_F(ParseTest, OwnSectionWinsOverTopAndOthersAreIgnored) {
  run({"--model", "m", "--config", file("batch-size = 1\n[toy.run]\nbatch-size = 2\n[data.ingest]\nsource = 'x'\n")});
  EXPECT_EQ(result.batch_size, 2);
}

TEST_F(ParseTest, ConfigFileCanBeNamedByVariable) {
  const ScopedVariable variable("LOCKRING_CONFIG", file("model = 'v'"));
  run({});
  EXPECT_EQ(result.model, "v");
  const ScopedVariable missing("LOCKRING_CONFIG", (directory_ / "missing.toml").string());
  expect_usage_error({"--model", "m"}, "cannot read the configuration file");
}

TEST_F(ParseTest, UnknownNamesSuggestTheNearest) {
  expect_usage_error({"--model", "m", "--batch-sise", "3"},
                     "unknown option '--batch-sise' (did you mean '--batch-size'?)");
  expect_usage_error({"--modle=m"}, "unknown option '--modle' (did you mean '--model'?)");
  expect_usage_error({"--model", "m", "stray"}, "unexpected argument 'stray'");
  expect_usage_error({"--model", "m", "--", "--model"}, "unexpected argument '--model'");
  expect_usage_error({"--config", file("\nbatchsize = 1")},
                     "c.toml:2: unknown key 'batchsize' (did you mean 'batch-size'?)");
  expect_usage_error({"--config", file("[toy.rum]\n a = 1")},
                     "c.toml:2: unknown section 'toy.rum' (did you mean 'toy.run'?)");
  expect_usage_error({"--config", file("config = 'x'")}, "unknown key 'config'");
  expect_usage_error({"--model", "m", "--optimizer", "adm"},
                     "'adm' is not one of sgd, adam, adamw (did you mean 'adam'?)");
}

TEST_F(ParseTest, MessagesSayWhatWasExpected) {
  const auto expect = [](const std::string& option, const std::string& value, std::string_view message) {
    expect_usage_error({"--model", "m", option, value}, message);
  };
  expect("--lr", "0", "--lr: expected a number above 0, found '0'");
  expect("--lr", "fast", "--lr: expected a number, found 'fast'");
  expect("--lr", "nan", "--lr: expected a number, found 'nan'");
  expect("--share", "1.01", "--share: expected a number from 0 to 1, found '1.01'");
  expect("--batch-size", "1.5", "--batch-size: expected a whole number, found '1.5'");
  expect("--batch-size", "99999999999999999999", "--batch-size: 99999999999999999999 is out of range");
  expect("--seed", "-1", "--seed: -1 is out of range");
  expect_usage_error({"--model", "m", "--lr"}, "--lr: expected one value, found 0");
  expect_usage_error({"--model", "m", "--lr", "1", "--lr", "2"}, "--lr: expected one value, found 2");
}

TEST_F(ParseTest, BadValuesAreOneLineErrors) {
  const Words bad[] = {{},
                       {"--model"},
                       {"--model", "m", "--lr", "fast"},
                       {"--model", "m", "--lr", "-1"},
                       {"--model", "m", "--batch-size", "1.5"},
                       {"--model", "m", "--batch-size", "99999999999999999999"},
                       {"--model", "m", "--lr", "nan"},
                       {"--model", "m", "--lr", "1e999"},
                       {"--model", "m", "--sizes", "1,x"},
                       {"--model", "m", "--quiet=perhaps"},
                       {"--model", "a", "--model", "b"},
                       {"--model", "m", "--config", "/nowhere/c.toml"},
                       {"--model", "m", "--config", directory_.path().string()},
                       {"--config", file("model = 'm'\nlr = 'fast'")},
                       {"--config", file("model = ['m', 'n']")},
                       {"--config", file("model = []")},
                       {"--config", file("model = 'm'\nquiet = 'perhaps'")}};
  for (const Words& arguments : bad) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    try {
      parse(kToy, arguments);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
}

TEST_F(ParseTest, ConfigTextHoldsDefaultsAndValues) {
  run({"--model", "cnn", "--batch-size", "64", "-q"});
  EXPECT_EQ(result.config,
            "model = \"cnn\"\noptimizer = \"sgd\"\nnote = \"none\"\nlr = 0.1\nshare = 0\nseed = 0\nbatch-size = "
            "64\ntags = [\"a\", \"b\"]\n"
            "quiet = true\n");
}

TEST_F(ParseTest, ConfigTextReadBackGivesTheSameValues) {
  const std::string strings[] = {"plain", "it's \"quoted\"", "back\\slash", "#1, [x] = y", " spaced ", "true",
                                 "007",   "line\nbreak",     "\u00e9",      "-5"};
  for (const std::string& text : strings) {
    SCOPED_TRACE(text);
    run({"--model=" + text, "--note=" + text, "--tags", text, "two words, one", "--sizes", "1,2", "--lr", "1e-4",
         "-q"});
    const Toy first = result;
    run({"--config", file(first.config)});
    EXPECT_EQ(result.model, text);
    EXPECT_EQ(result.note, text);
    EXPECT_EQ(result.tags, (Words{text, "two words, one"}));
    EXPECT_EQ(result.sizes, (std::vector<int>{1, 2}));
    EXPECT_EQ(result.lr, 1e-4);
    EXPECT_EQ(result.batch_size, 128);
    EXPECT_TRUE(result.quiet);
    EXPECT_EQ(result.config, first.config);
  }
}

TEST_F(ParseTest, HelpShowsDefaultsAndTheExample) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(parse(kToy, {"--help"})(), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("Usage: lockring toy run"), std::string::npos) << help;
  EXPECT_NE(help.find("--batch-size INT=128"), std::string::npos) << help;
  EXPECT_NE(help.find("--lr FLOAT=0.1 "), std::string::npos) << help;
  EXPECT_NE(help.find("--optimizer sgd|adam|adamw=sgd"), std::string::npos) << help;
  EXPECT_NE(help.find("--config FILE"), std::string::npos) << help;
  EXPECT_NE(help.find("lockring toy run --model cnn"), std::string::npos) << help;
}

}  // namespace
}  // namespace lockring::app
