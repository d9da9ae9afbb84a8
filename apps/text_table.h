// Rows of text in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace lockring::app {

enum class Align { left, right };

// Each row on a line of its own, two spaces in front of each cell; columns are as wide as their widest cell. `columns`
// has an alignment for each column; rows may be shorter. Cells are made printable (core/text.h).
std::string text_table(std::vector<std::vector<std::string>> rows, const std::vector<Align>& columns);

}  // namespace lockring::app
