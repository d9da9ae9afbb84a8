// A model that answers when the test says so.
#pragma once

#include "apps/serve/servable.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app::serve {

inline Description small_description(const std::string& name) {
  return {.name = name, .platform = "lockring", .image = {2, 2, 1}, .classes = {"a", "b", "c"}, .max_batch = 8};
}

inline Tensor small_images(std::int64_t rows) { return Tensor::zeros({rows, 2, 2, 1}, DType::u8); }

class FakeServable : public Servable {
 public:
  explicit FakeServable(Description description) : description_(std::move(description)) {}

  const Description& description() const override { return description_; }
  void submit(Request request, Done done) override {
    if (answer_at_once) return done(*answer_at_once);
    requests.emplace_back(std::move(request), std::move(done));
  }
  void answer_next(Answer answer) {
    Done done = std::move(requests.front().second);
    requests.erase(requests.begin());
    done(std::move(answer));
  }

  std::vector<std::pair<Request, Done>> requests;
  std::unique_ptr<Answer> answer_at_once;

 private:
  Description description_;
};

inline Answer answer_of(std::initializer_list<float> probabilities) {
  return {.probabilities = Tensor::from(probabilities, {static_cast<std::int64_t>(probabilities.size()) / 3, 3})};
}

// What is served, by name.
using Served = std::map<std::string, std::shared_ptr<FakeServable>>;

inline Served fakes(std::initializer_list<const char*> names) {
  Served served;
  for (const char* name : names) served[name] = std::make_shared<FakeServable>(small_description(name));
  return served;
}

inline auto lookup_in(const Served& served) {
  return [&served](const std::string& name) -> std::shared_ptr<Servable> {
    const auto found = served.find(name);
    return found == served.end() ? nullptr : found->second;
  };
}

// Keeps the one answer that it is called with.
struct Kept {
  std::vector<Answer> answers;
  Done keep() {
    return [this](Answer answer) { answers.push_back(std::move(answer)); };
  }
};

}  // namespace lockring::app::serve
