// What is known about well-known data sets beforehand. A new one is one row of the table in catalog.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// What content can be recognised by.
struct ContentMarks {
  std::string digest = {};                         // of the images and labels as they are stored
  std::string label_file = {};                     // SHA-256 of the file of the training labels as it was published
  std::vector<std::int64_t> train_per_class = {};  // number of training images
  std::vector<std::int64_t> test_per_class = {};
};

struct KnownDataset {
  std::string name;
  std::vector<std::string> classes;  // by label
  std::string url;                   // a folder that serves the four files; may be empty
  // Each one that is recorded is enough. Counts are recorded only where they are uneven, and so tell sets apart.
  ContentMarks marks;
};

// Null if there is none of this name, or with any of these marks.
const KnownDataset* find_known_dataset(std::string_view name);
const KnownDataset* find_known_content(const ContentMarks& marks);

}  // namespace lockring::data
