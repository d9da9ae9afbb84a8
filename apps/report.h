// What an evaluation looks like as text.
#pragma once

#include "apps/evaluation.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// How well one class was recognised. What would be 0 / 0 is 0.
struct ClassScore {
  std::int64_t count = 0;  // samples of the class that got a prediction
  double precision = 0;    // of the samples predicted as this class, the share that are of it
  double recall = 0;       // of the samples of this class, the share predicted as it
  double f1 = 0;           // harmonic mean of the two
};

// By class.
std::vector<ClassScore> class_scores(const Evaluation& evaluation);

// A heading, one line a class, and one for the mean of the classes; `names` by class.
std::string class_table(const Evaluation& evaluation, std::span<const std::string> names);

// One line a true class, one column a predicted class under its name cut short; "." is none. Within 80 columns for ten
// classes.
std::string confusion_table(const Evaluation& evaluation, std::span<const std::string> names);

}  // namespace lockring::app
