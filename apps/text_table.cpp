#include "apps/text_table.h"

#include "apps/terminal.h"
#include "core/text.h"

#include <algorithm>
#include <cstdint>

namespace lockring::app {

std::string text_table(std::vector<std::vector<std::string>> rows, const std::vector<Align>& columns) {
  for (std::vector<std::string>& row : rows)
    for (std::string& cell : row) cell = printable(cell);
  std::vector<std::int64_t> widths(columns.size());
  for (const std::vector<std::string>& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(static_cast<std::size_t>(widths[i] - columns_of(row[i])), ' ');
      line += columns[i] == Align::left ? "  " + row[i] + gap : "  " + gap + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace lockring::app
