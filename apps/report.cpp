#include "apps/report.h"

#include "apps/terminal.h"

#include <algorithm>

namespace lockring::app {
namespace {

constexpr std::int64_t kWidestName = 16;

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// Columns for the names of classes at the start of lines.
std::int64_t name_columns(std::span<const std::string> names, std::string_view heading) {
  std::int64_t columns = columns_of(heading);
  for (const std::string& name : names) columns = std::max(columns, std::min(columns_of(name), kWidestName));
  return columns;
}

std::string score_line(const std::string& name, std::int64_t columns, const ClassScore& score) {
  return fmt::format("  {:<{}.{}}  {:>9.4f}  {:>7.4f}  {:>7.4f}  {:>8}\n", name, columns, columns, score.precision,
                     score.recall, score.f1, with_thousands(score.count));
}

}  // namespace

std::vector<ClassScore> class_scores(const Evaluation& evaluation) {
  std::vector<ClassScore> scores;
  const auto at = [&](std::int64_t truth, std::int64_t predicted) {
    return evaluation.confusion[static_cast<std::size_t>(truth * evaluation.classes + predicted)];
  };
  for (std::int64_t c = 0; c < evaluation.classes; ++c) {
    std::int64_t of_class = 0;
    std::int64_t as_class = 0;
    for (std::int64_t other = 0; other < evaluation.classes; ++other) {
      of_class += at(c, other);
      as_class += at(other, c);
    }
    const auto right = static_cast<double>(at(c, c));
    scores.push_back({.count = of_class,
                      .precision = ratio(right, static_cast<double>(as_class)),
                      .recall = ratio(right, static_cast<double>(of_class)),
                      .f1 = ratio(2 * right, static_cast<double>(of_class + as_class))});
  }
  return scores;
}

std::string class_table(const Evaluation& evaluation, std::span<const std::string> names) {
  const std::int64_t columns = name_columns(names, "class");
  std::string text =
      fmt::format("  {:<{}}  {:>9}  {:>7}  {:>7}  {:>8}\n", "class", columns, "precision", "recall", "F1", "images");
  ClassScore mean;
  const std::vector<ClassScore> scores = class_scores(evaluation);
  for (std::size_t c = 0; c < scores.size(); ++c) {
    text += score_line(names[c], columns, scores[c]);
    mean.count += scores[c].count;
    mean.precision += scores[c].precision / static_cast<double>(scores.size());
    mean.recall += scores[c].recall / static_cast<double>(scores.size());
    mean.f1 += scores[c].f1 / static_cast<double>(scores.size());
  }
  return text + score_line("mean", columns, mean);
}

std::string confusion_table(const Evaluation& evaluation, std::span<const std::string> names) {
  constexpr std::size_t kShortName = 5;
  constexpr std::string_view kHeading = "true";
  const std::int64_t columns = name_columns(names, kHeading);
  std::size_t cell = kShortName;
  for (const std::int64_t count : evaluation.confusion) cell = std::max(cell, std::to_string(count).size());
  std::string text = fmt::format("  {:<{}}  predicted\n  {:<{}}", "", columns, kHeading, columns);
  for (std::int64_t c = 0; c < evaluation.classes; ++c)
    text += fmt::format(" {:>{}.{}}", names[static_cast<std::size_t>(c)], cell, kShortName);
  text += '\n';
  for (std::int64_t truth = 0; truth < evaluation.classes; ++truth) {
    text += fmt::format("  {:<{}.{}}", names[static_cast<std::size_t>(truth)], columns, columns);
    for (std::int64_t c = 0; c < evaluation.classes; ++c) {
      const std::int64_t count = evaluation.confusion[static_cast<std::size_t>(truth * evaluation.classes + c)];
      text += fmt::format(" {:>{}}", count == 0 ? "." : std::to_string(count), cell);
    }
    text += '\n';
  }
  return text;
}

}  // namespace lockring::app
