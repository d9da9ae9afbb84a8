// One attempt at a step: a place to make its outputs in, and their way from there to where they belong.
#pragma once

#include "apps/workflow/record.h"
#include "apps/workflow/spec.h"
#include "apps/workflow/state_folder.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockring::app::workflow {

class Attempt {
 public:
  // Makes the folders, if the step has outputs. `run` is the run's name; `key` the step's, by which its outputs are
  // stored if it is memoized: then nobody else is making them. Throws Error{data}. Keeps a reference to the step.
  //
  // A step that has checkpoints works where the last attempt with this key has, and finds what that one has left.
  Attempt(const StepSpec& step, const StateFolder& state, const std::string& run, int number,
          const std::string& key = "");
  ~Attempt();  // removes what is still in them
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Absolute paths to write to, by output.
  const std::map<std::string, std::string>& outputs() const { return outputs_; }
  // Whether there is a checkpoint of an attempt that was cut off.
  bool has_checkpoint() const;
  // Leaves its checkpoint, if there is one, to the next attempt.
  void leave_checkpoint();
  // Whether all of them are there.
  bool has_outputs() const;

  // Reads values, checks and digests files and folders, and renames each into its place. Throws Error{data} if one is
  // missing or is not what it should be; then none is moved.
  std::vector<OutputRecord> collect();
  // The same for a server, which goes on with its files where they are.
  std::vector<OutputRecord> collect_in_place() const;

  // Removes what attempts of a run that was killed have left half-made, but for checkpoints. `kept` are the locations
  // that are in use.
  static void remove_leftovers(const Workflow& workflow, const StateFolder& state, const std::string& run,
                               const std::vector<std::string>& kept);
  // Those, too: of a run that has ended.
  static void remove_checkpoints(const Workflow& workflow, const StateFolder& state, const std::string& run);

 private:
  std::filesystem::path place_of(const OutputSpec& output) const;
  OutputRecord record_of(const OutputSpec& output) const;

  const StepSpec& step_;
  StateFolder state_;
  std::string name_;  // RUN.STEP.NUMBER, or RUN.STEP.KEY of a step that has checkpoints
  // Of the folder that its outputs come to: by the key, so that what is made again is where it was before.
  std::string stored_as_;
  std::filesystem::path folder_;               // for those without a place of their own
  std::vector<std::filesystem::path> beside_;  // folders beside the places of the others
  std::map<std::string, std::string> outputs_;
};

}  // namespace lockring::app::workflow
