// How the steps of a run stand, and what each may do next. Rules alone: it starts nothing and writes nothing.
//
// A step waits for all that it needs. One that is `async` waits, of a list of inputs, for one member only; it runs
// again for what comes later, a round each time, until all that it waits for has come to an end. Other steps see its
// last round; those that are async themselves see every one.
#pragma once

#include "apps/workflow/graph.h"
#include "apps/workflow/journal.h"
#include "apps/workflow/record.h"
#include "apps/workflow/spec.h"

#include <string>
#include <vector>

namespace lockring::app::workflow {

struct StepStatus {
  StepState state = StepState::waiting;
  std::string message;
  std::vector<OutputRecord> outputs;  // of the last good end
  int rounds = 0;                     // good ends
};

class Board {
 public:
  // Keeps a reference.
  explicit Board(const Workflow& workflow);

  enum class Next {
    wait,    // for others, or it is at work or at its end
    run,     // it has all that it needs
    update,  // a server that answers has new inputs
    end,     // async: it has taken in all that there will be
    omit     // what it needs will not come
  };
  Next next(int step) const;
  // Why a step is omitted.
  std::string obstacle(int step) const;

  // What the step works with from now on counts as taken in.
  void start(int step);
  void set_state(int step, StepState state, std::string message = "");
  // A good end of the step, or of a round.
  void add_outputs(int step, std::vector<OutputRecord> outputs);
  // Whether there is, or will be, something that an async step has not taken in.
  bool goes_on(int step) const;

  const StepStatus& status(int step) const { return steps_[static_cast<std::size_t>(step)]; }
  // Null until the step has it.
  const OutputRecord* find(const std::string& step, const std::string& output) const;
  int size() const { return static_cast<int>(steps_.size()); }
  const Graph& graph() const { return graph_; }

 private:
  // How one step depends on another.
  struct Link {
    int step = 0;
    bool single = false;   // an output that it cannot do without
    bool ordered = false;  // `needs`
  };
  struct List {
    std::vector<int> members;  // steps, one for each member; -1 for a path
  };

  const StepSpec& spec(int step) const { return workflow_.steps[static_cast<std::size_t>(step)]; }
  bool is_settled(int step) const;
  bool has_news(int step) const;
  bool all_settled(int step) const;
  bool waits_for(int step, const Link& link) const;
  bool is_lost(int step, const Link& link) const;
  bool list_is_lost(const List& list) const;
  bool list_waits(int step, const List& list) const;

  const Workflow& workflow_;
  Graph graph_;
  std::vector<StepStatus> steps_;
  std::vector<std::vector<Link>> links_;
  std::vector<std::vector<List>> lists_;
  std::vector<std::vector<int>> taken_;  // by step: rounds of those before it that it has taken in
};

}  // namespace lockring::app::workflow
