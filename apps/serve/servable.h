// What can be asked by name: one model's endpoint, an ensemble of several, or a split of the traffic between some.
#pragma once

#include "apps/serve/counters.h"
#include "apps/serve/request.h"
#include "core/shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockring::app::serve {

// What clients are told of it. Never changes while it is served.
struct Description {
  std::string name;
  std::string version = "1";
  std::string platform;  // "lockring" for a model, "ensemble", "split"
  std::string input = "image";
  Shape image;                // [height, width, channels]
  bool light_on_dark = true;  // photographs with a light ground are inverted (data/image_file.h)
  std::vector<std::string> classes;
  std::int64_t max_batch = 1;
  // Of a model.
  std::string architecture = "";
  std::string digest = "";
  std::string transform = "";
  std::int64_t parameters = 0;
  std::map<std::string, double> metrics = {};
  // Of an ensemble or a split: the names it asks, with their weights.
  std::vector<std::pair<std::string, double>> members = {};
  std::string method = "";  // mean, vote, weighted; or "sticky by HEADER"
  std::string policy = "";  // all, any, quorum
};

// What an endpoint is doing now.
struct Load {
  std::int64_t queued = 0;   // requests
  std::int64_t running = 0;  // batches
  int replicas = 0;
};

class Servable {
 public:
  Servable() = default;
  Servable(const Servable&) = delete;
  Servable& operator=(const Servable&) = delete;
  virtual ~Servable() = default;

  virtual const Description& description() const = 0;
  // Answers through `done`, whatever happens. The images have the description's shape. Any thread.
  virtual void submit(Request request, Done done) = 0;
  virtual Load load() const { return {}; }

  const Counters& counters() const { return counters_; }

 protected:
  // Counts a request that has come to its end.
  void count(const Answer& answer, std::int64_t rows, Clock::time_point arrived);

  Counters counters_;
};

}  // namespace lockring::app::serve
