#include "apps/serve/predict_render.h"

#include "apps/serve/infer.h"
#include "apps/serve/json_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockring::app::serve {
namespace {

std::span<const float> row_of(const Tensor& tensor, std::size_t row) {
  const auto classes = static_cast<std::size_t>(tensor.size(1));
  return tensor.values().subspan(row * classes, classes);
}

void append_guess(std::string& json, std::size_t index, float probability, const Description& description) {
  json += "\"label\":";
  append_text(json, description.classes[index]);
  json += ",\"index\":";
  append_number(json, index);
  json += ",\"probability\":";
  append_number(json, probability);
}

// The best guess, then the list of all or the `top` first.
void append_guesses(std::string& json, std::span<const float> row, std::int64_t top, const Description& description) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  append_guess(json, order[0], row[order[0]], description);
  json += ",\"probabilities\":[";
  const std::size_t count = top > 0 ? std::min(order.size(), static_cast<std::size_t>(top)) : order.size();
  for (std::size_t i = 0; i < count; ++i) {
    json += i > 0 ? ",{" : "{";
    append_guess(json, order[i], row[order[i]], description);
    json += '}';
  }
  json += ']';
}

void append_member(std::string& json, const MemberAnswer& member, std::size_t row, std::int64_t top,
                   const Description& description) {
  json += "{\"model\":";
  append_text(json, member.model);
  json += ",\"version\":";
  append_text(json, member.version);
  json += ",\"outcome\":";
  append_text(json, name_of(member.outcome));
  if (member.outcome == Outcome::ok) {
    json += ",\"timing_us\":";
    append_number(json, std::chrono::duration_cast<std::chrono::microseconds>(member.timing.compute).count());
    json += ',';
    append_guesses(json, row_of(member.probabilities, row), top, description);
  } else {
    json += ",\"error\":";
    append_text(json, member.message);
  }
  json += '}';
}

void append_prediction(std::string& json, const PredictWish& wish, const Answer& answer, std::size_t row,
                       const Description& description) {
  json += '{';
  if (!wish.names[row].empty()) {
    json += "\"file\":";
    append_text(json, wish.names[row]);
    json += ',';
  }
  append_guesses(json, row_of(answer.probabilities, row), wish.top, description);
  json += wish.inverted[row] ? ",\"inverted\":true,\"note\":\"the picture was dark on light; it was inverted\""
                             : ",\"inverted\":false";
  json += ",\"model\":";
  append_text(json, answer.model);
  json += ",\"version\":";
  append_text(json, answer.version);
  if (answer.agreement.defined()) {
    json += ",\"agreement\":";
    append_number(json, answer.agreement.data()[row]);
  }
  if (!answer.members.empty()) {
    json += ",\"members\":[";
    for (const MemberAnswer& member : answer.members) {
      if (&member != &answer.members.front()) json += ',';
      append_member(json, member, row, wish.top, description);
    }
    json += ']';
  }
  json += ",\"timing_us\":{\"queue\":";
  append_number(json, std::chrono::duration_cast<std::chrono::microseconds>(answer.timing.queue).count());
  json += ",\"compute\":";
  append_number(json, std::chrono::duration_cast<std::chrono::microseconds>(answer.timing.compute).count());
  json += "}}";
}

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values(), [](float value) { return std::isfinite(value); });
}

}  // namespace

http::Response render_predict(const PredictWish& wish, const Answer& answer, const Description& description) {
  if (answer.outcome != Outcome::ok) return error_of(answer);
  if (!all_finite(answer.probabilities)) return http::error_response(500, "the model's scores are not finite");
  std::string json;
  if (wish.several) json += "{\"predictions\":[";
  for (std::size_t row = 0; row < wish.inverted.size(); ++row) {
    if (row > 0) json += ',';
    append_prediction(json, wish, answer, row, description);
  }
  if (wish.several) json += "]}";
  json += '\n';
  return http::json_response(200, std::move(json));
}

http::Response render_tensorflow(bool columns, const Answer& answer) {
  if (answer.outcome != Outcome::ok) return error_of(answer);
  if (!all_finite(answer.probabilities)) return http::error_response(500, "the model's scores are not finite");
  std::string json = columns ? "{\"outputs\":[" : "{\"predictions\":[";
  for (std::int64_t row = 0; row < answer.probabilities.size(0); ++row) {
    json += row > 0 ? ",[" : "[";
    append_numbers(json, row_of(answer.probabilities, static_cast<std::size_t>(row)));
    json += ']';
  }
  json += "]}";
  return http::json_response(200, std::move(json));
}

}  // namespace lockring::app::serve
