// Answers of /predict, for people and pages; and of TensorFlow Serving's predict.
#pragma once

#include "apps/http/message.h"
#include "apps/serve/request.h"
#include "apps/serve/servable.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockring::app::serve {

struct PredictWish {
  std::vector<bool> inverted;      // by picture: the ground was light
  std::vector<std::string> names;  // files' names, "" if there are none
  bool several = false;            // the answer is a list even of one picture
  std::int64_t top = 0;            // classes to tell of; 0: all
};

// {"label", "index", "probability", "probabilities": [{"label", "index", "probability"}], "inverted", "model",
// "agreement", "members": [...], "timing_us"}; of several pictures {"predictions": [...]}.
http::Response render_predict(const PredictWish& wish, const Answer& answer, const Description& description);

// {"predictions": [[...]]} or {"outputs": [[...]]}
http::Response render_tensorflow(bool columns, const Answer& answer);

}  // namespace lockring::app::serve
