// Several models behind one name: all are asked at once, and their answers become one.
#pragma once

#include "apps/serve/aggregate.h"
#include "apps/serve/servable.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockring::app::serve {

// What is served under a name now, or null. Any thread.
using Lookup = std::function<std::shared_ptr<Servable>(const std::string& name)>;

struct Member {
  std::string name;
  double weight = 1;
};

struct EnsembleOptions {
  std::string name = "ensemble";
  std::vector<Member> members;
  Method method = Method::mean;
  Policy policy = Policy::all;
  // How long members may take before the others' answers have to do; zero: as long as the request.
  std::chrono::milliseconds member_timeout{0};
};

class Ensemble : public Servable {
 public:
  // Members are looked up anew for every request, so each can be reloaded meanwhile. Throws Error{usage} if one is not
  // served now, or takes other images or tells other classes apart than the first.
  Ensemble(EnsembleOptions options, Lookup lookup);

  const Description& description() const override { return description_; }
  // The answer names every member with what it said or why it did not; a member whose scores are not finite has failed.
  void submit(Request request, Done done) override;

 private:
  struct Gathering;

  void ask(std::size_t member, const Request& request, const std::shared_ptr<Gathering>& gathering);
  void conclude(Gathering& gathering);

  const EnsembleOptions options_;
  const Lookup lookup_;
  Description description_;
};

// The description shared by what is asked under one name. Throws Error{usage} unless all are served and alike.
Description common_description(const std::string& name, const std::vector<Member>& members, const Lookup& lookup);
// Whether requests for one suit the other.
bool alike(const Description& one, const Description& other);

}  // namespace lockring::app::serve
