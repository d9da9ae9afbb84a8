// References in texts and conditions.
#include "apps/workflow/condition.h"
#include "apps/workflow/text_template.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

namespace lockring::app::workflow {
namespace {

// Values by the text of the reference.
Resolver values(std::map<std::string, std::vector<std::string>> known) {
  return [known = std::move(known)](const Reference& reference) { return known.at(reference.text()); };
}

Template text(const std::string& from) { return parse_template(from, {}, "w.yaml"); }

TEST(WorkflowText, FillsReferencesOfEveryKind) {
  const Template all = text("${p}-${inputs.a}-${outputs.b}-${steps.s-1.o}-${step.seed}-${run.id}");
  EXPECT_EQ(all.fill(values({{"${p}", {"1"}},
                             {"${inputs.a}", {"2", "3"}},
                             {"${outputs.b}", {"4"}},
                             {"${steps.s-1.o}", {"5"}},
                             {"${step.seed}", {"6"}},
                             {"${run.id}", {"7"}}})),
            "1-2 3-4-5-6-7");
  EXPECT_TRUE(text("${p}").is_reference());
  EXPECT_FALSE(text("${p} ").is_reference());
  EXPECT_EQ(text("").fill(values({})), "");
  EXPECT_EQ(text("a$b$${c}$").fill(values({})), "a$b${c}$");
}

TEST(WorkflowText, SplitsIntoWordsOutsideOfReferences) {
  const std::vector<Template> words = split_words(text("  cp a${p}b\t${p}${p}\n c "));
  ASSERT_EQ(words.size(), 4u);
  const Resolver resolver = values({{"${p}", {"x y"}}});
  EXPECT_EQ(words[1].fill(resolver), "ax yb") << "a value is never split";
  EXPECT_EQ(words[2].fill(resolver), "x yx y");
}

// What the shell makes of a text in which ${v} has this value.
std::string through_shell(const std::string& script, const std::string& value) {
  const std::string command = fill_for_shell(text(script), values({{"${v}", {value}}}));
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  pclose(pipe);
  return out;
}

TEST(WorkflowText, AShellTakesValuesAsTheyAre) {
  const std::string value = "a b'c\"d $HOME `id` \\ ; rm * ${x}";
  for (const char* script : {"printf %s ${v}", "printf %s \"${v}\"", "printf %s '${v}'", "printf %s \"\"${v}''",
                             "printf %s 'it'\\''s' >/dev/null; printf %s \"${v}\""})
    EXPECT_EQ(through_shell(script, value), value) << script;
  EXPECT_EQ(fill_for_shell(text("cat ${v}"), values({{"${v}", {"a b", "c"}}})), "cat 'a b' c");
}

bool holds(const std::string& condition, const std::string& value = "") {
  return Condition::parse(condition, {}, "w.yaml").holds(values({{"${v}", {value}}}));
}

TEST(WorkflowCondition, Compares) {
  EXPECT_TRUE(holds("${v} > 0.9", "0.95"));
  EXPECT_FALSE(holds("${v} > 0.9", "0.9"));
  EXPECT_TRUE(holds("${v} >= 0.9", "9e-1"));
  EXPECT_TRUE(holds("10 > 9")) << "as numbers";
  EXPECT_TRUE(holds("1.0 == 1"));
  EXPECT_TRUE(holds("${v} == 'quick run'", "quick run"));
  EXPECT_TRUE(holds("${v} != quick", "slow"));
  EXPECT_TRUE(holds("a${v}c == abc", "b"));
  EXPECT_FALSE(holds("${v} > 0.9", "nan"));
  EXPECT_FALSE(holds("${v} < 0.9", "nan"));
}

TEST(WorkflowCondition, Combines) {
  EXPECT_TRUE(holds("1 == 2 || 2 == 2 && 3 == 3"));
  EXPECT_FALSE(holds("(1 == 1 || 2 == 2) && 3 == 4"));
  EXPECT_TRUE(holds("!(1 == 2)"));
  EXPECT_TRUE(holds("!!true"));
  EXPECT_FALSE(holds("! true"));
  for (const char* no : {"", "false", "0"}) EXPECT_FALSE(holds("${v}", no)) << no;
  EXPECT_TRUE(holds("${v}", "x"));
}

TEST(WorkflowCondition, AValueIsNeverAPartOfTheExpression) {
  EXPECT_FALSE(holds("${v} == x", "y || 1 == 1"));
  EXPECT_TRUE(holds("${v} == '${v}'", "' == '"));
}

TEST(WorkflowCondition, Mistakes) {
  const auto mistake = [](const std::string& condition, const std::string& message) {
    expect_error(ErrorCode::data, "w.yaml:1:1: when: " + message, [&] { Condition::parse(condition, {}, "w.yaml"); });
  };
  mistake("", "expected a value at the end");
  mistake("1 ==", "expected a value at the end");
  mistake("== 1", "expected a value before '=='");
  mistake("1 2", "nothing is expected before '2'");
  mistake("(1", "')' is missing");
  mistake("1)", "nothing is expected before ')'");
  mistake("'a", "'a has no closing quote");
  mistake("1 = 2", "'=' is no operator");
  mistake("1 & 2", "'&' is no operator");
  mistake(std::string(10000, '('), "too many parentheses");
  expect_error(ErrorCode::data, "'${x y}' is no reference", [] { Condition::parse("${x y} == 1", {}, "w.yaml"); });
  expect_error(ErrorCode::data, "when: '<' compares numbers, found 'a' and '1'", [] { holds("a < 1"); });
}

}  // namespace
}  // namespace lockring::app::workflow
