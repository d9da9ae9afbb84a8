// What is known about well-known data sets beforehand. A new one is one row of the table in catalog.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

struct KnownDataset {
  std::string name;
  std::vector<std::string> classes;  // by label
  std::string digest;                // of its content, see content.h; empty if not recorded
  std::string url;                   // a folder that serves the four files
};

// Null if there is none of this name, or of this digest.
const KnownDataset* find_known_dataset(std::string_view name);
const KnownDataset* find_known_digest(std::string_view digest);

// The classes of the known data set, else "0" to "9".
std::vector<std::string> class_names(std::string_view name);

}  // namespace lockring::data
