#include "apps/workflow/condition.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace lockring::app::workflow {

struct Condition::Node {
  std::string operation;  // "" for a value
  Template value;
  std::shared_ptr<const Node> left;  // of "!" the only one
  std::shared_ptr<const Node> right;
};

namespace {

using Node = Condition::Node;
using NodePtr = std::shared_ptr<const Node>;

constexpr std::string_view kOperators[] = {"||", "&&", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")"};
constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};

struct Token {
  std::string text;
  bool is_value = false;
};

class Parser {
 public:
  Parser(const std::string& text, Place place, const std::string& file) : place_(place), file_(file) { split(text); }

  NodePtr parse() {
    const NodePtr root = either();
    if (at_ < tokens_.size()) fail(fmt::format("nothing is expected before '{}'", tokens_[at_].text));
    return root;
  }
  std::vector<Reference> references;

 private:
  static constexpr int kDeepest = 100;
  static constexpr std::size_t kLongest = 1000;  // the tree of "a || b || c" is as deep as it is long

  [[noreturn]] void fail(const std::string& message) const { fail_at(file_, place_, "when: " + message); }

  void split(std::string_view rest) {
    std::size_t values = 0;
    while (!rest.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest[0])) != 0) {
        rest.remove_prefix(1);
        continue;
      }
      const auto* found = std::ranges::find_if(kOperators, [&](std::string_view o) { return rest.starts_with(o); });
      Token token;
      if (found != std::end(kOperators)) {
        token = {std::string(*found), false};
        rest.remove_prefix(found->size());
      } else {
        token = {take_value(rest), true};
      }
      tokens_.push_back(token);
      if (token.is_value && ++values > kLongest) fail(fmt::format("more than {} words", kLongest));
    }
  }

  // A word in quotes, or up to the next space or operator outside of a reference.
  std::string take_value(std::string_view& rest) const {
    if (const char quote = rest[0]; quote == '\'' || quote == '"') {
      const std::size_t end = rest.find(quote, 1);
      if (end == std::string_view::npos) fail(fmt::format("{} has no closing quote", printable(rest)));
      std::string value(rest.substr(1, end - 1));
      rest.remove_prefix(end + 1);
      return value;
    }
    std::size_t size = 0;
    bool inside = false;
    for (; size < rest.size(); ++size) {
      const char c = rest[size];
      inside = inside ? c != '}' : rest.substr(size).starts_with("${");
      if (!inside && (std::isspace(static_cast<unsigned char>(c)) != 0 ||
                      std::string_view("|&=!<>()").find(c) != std::string_view::npos))
        break;
    }
    if (size == 0) fail(fmt::format("'{}' is no operator", rest[0]));
    std::string value(rest.substr(0, size));
    rest.remove_prefix(size);
    return value;
  }

  bool take(std::string_view operation) {
    if (at_ == tokens_.size() || tokens_[at_].is_value || tokens_[at_].text != operation) return false;
    ++at_;
    return true;
  }

  NodePtr either() {
    if (++depth_ > kDeepest) fail("too many parentheses");
    NodePtr node = both();
    while (take("||")) node = std::make_shared<Node>(Node{"||", {}, node, both()});
    --depth_;
    return node;
  }

  NodePtr both() {
    NodePtr node = comparison();
    while (take("&&")) node = std::make_shared<Node>(Node{"&&", {}, node, comparison()});
    return node;
  }

  NodePtr comparison() {
    NodePtr node = single();
    for (const std::string_view operation : kComparisons)
      if (take(operation)) return std::make_shared<Node>(Node{std::string(operation), {}, node, single()});
    return node;
  }

  NodePtr single() {
    bool negative = false;
    while (take("!")) negative = !negative;
    NodePtr node;
    if (take("(")) {
      node = either();
      if (!take(")")) fail("')' is missing");
    } else if (at_ < tokens_.size() && tokens_[at_].is_value) {
      node = std::make_shared<Node>(Node{"", parse_template(tokens_[at_++].text, place_, file_), nullptr, nullptr});
      for (const TemplatePart& part : node->value.parts)
        if (part.is_reference) references.push_back(part.reference);
    } else {
      fail(at_ < tokens_.size() ? fmt::format("expected a value before '{}'", tokens_[at_].text)
                                : "expected a value at the end");
    }
    return negative ? std::make_shared<Node>(Node{"!", {}, node, nullptr}) : node;
  }

  Place place_;
  const std::string& file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

bool compare_numbers(const std::string& operation, double left, double right) {
  if (operation == "==") return left == right;
  if (operation == "!=") return left != right;
  if (operation == "<") return left < right;
  if (operation == "<=") return left <= right;
  if (operation == ">") return left > right;
  return left >= right;
}

class Evaluator {
 public:
  explicit Evaluator(const Resolver& values_of) : values_of_(values_of) {}

  bool holds(const Node& node) const {
    if (node.operation == "||") return holds(*node.left) || holds(*node.right);
    if (node.operation == "&&") return holds(*node.left) && holds(*node.right);
    if (node.operation == "!") return !holds(*node.left);
    if (node.operation.empty()) {
      const std::string value = text(node);
      return !value.empty() && value != "false" && value != "0";
    }
    return compare(node.operation, text(*node.left), text(*node.right));
  }

 private:
  std::string text(const Node& node) const {
    return node.operation.empty() ? node.value.fill(values_of_) : holds(node) ? "true" : "false";
  }

  static bool compare(const std::string& operation, const std::string& left, const std::string& right) {
    const std::optional<double> a = number(left);
    const std::optional<double> b = number(right);
    if (a && b) return compare_numbers(operation, *a, *b);
    check(operation == "==" || operation == "!=", ErrorCode::data, "when: '{}' compares numbers, found '{}' and '{}'",
          operation, printable(left), printable(right));
    return (left == right) == (operation == "==");
  }

  const Resolver& values_of_;
};

}  // namespace

Condition Condition::parse(const std::string& text, Place place, const std::string& file) {
  Condition condition;
  condition.text_ = text;
  condition.place_ = place;
  Parser parser(text, place, file);
  condition.root_ = parser.parse();
  condition.references_ = std::move(parser.references);
  return condition;
}

bool Condition::holds(const Resolver& values_of) const { return Evaluator(values_of).holds(*root_); }

}  // namespace lockring::app::workflow
