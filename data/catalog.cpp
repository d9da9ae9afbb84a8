#include "data/catalog.h"

#include <algorithm>

namespace lockring::data {
namespace {

const std::vector<std::string>& digits() {
  static const std::vector<std::string> names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  return names;
}

const std::vector<KnownDataset>& catalog() {
  static const std::vector<KnownDataset> rows = {
      {"fashion-mnist",
       {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
       "14410854cf7a289477dcfc7df3f8ec24741e281cdcc425ede0d9a748ca630214",
       "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion"},
      {"mnist", digits(), "", "https://ossci-datasets.s3.amazonaws.com/mnist"},
  };
  return rows;
}

// An empty value finds nothing: rows may leave a column empty.
const KnownDataset* find_row(std::string_view value, std::string KnownDataset::*column) {
  const auto row = std::ranges::find(catalog(), value, column);
  return row == catalog().end() || value.empty() ? nullptr : &*row;
}

}  // namespace

const KnownDataset* find_known_dataset(std::string_view name) { return find_row(name, &KnownDataset::name); }

const KnownDataset* find_known_digest(std::string_view digest) { return find_row(digest, &KnownDataset::digest); }

std::vector<std::string> class_names(std::string_view name) {
  const KnownDataset* known = find_known_dataset(name);
  return known != nullptr ? known->classes : digits();
}

}  // namespace lockring::data
