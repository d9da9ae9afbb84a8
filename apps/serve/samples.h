// Pictures to try a model on: images of a stored data set if it is there, else those that the bundles came with.
#pragma once

#include "apps/data_options.h"
#include "apps/http/message.h"
#include "apps/serve/repository.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lockring::app::serve {

// Any thread. The data set is looked for when somebody asks first.
class Samples {
 public:
  Samples(const DataOptions& data, const Repository& repository);

  // {"samples": [{"id", "url", "label", "source"}]}; label is null where it is not known.
  std::string list_json();
  // "ID.png", or 404.
  http::Response picture(const std::string& name);

 private:
  struct Sample {
    std::string png;
    std::string label;
    std::string source;
  };

  void load();
  void load_dataset();
  void load_bundles();

  const DataOptions data_;
  const Repository& repository_;
  std::mutex mutex_;
  bool loaded_ = false;
  std::vector<Sample> samples_;
};

}  // namespace lockring::app::serve
