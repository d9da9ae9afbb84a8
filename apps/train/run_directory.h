// The folder of one run: config.toml, metrics.jsonl, TensorBoard events, last.safetensors, best.safetensors,
// summary.json, log.txt.
//
// Written by one thread. Checkpoints and the summary are replaced whole; a disk that fails under metrics, events or
// log costs a warning, not the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockring::app {

class RunDirectory {
 public:
  // An empty `wanted` takes the next free runs/PREFIX-N. Throws Error{usage} if the folder exists and `resume` is not
  // set, or does not hold a checkpoint and it is; Error{data} if it cannot be made.
  RunDirectory(const std::filesystem::path& wanted, const std::string& prefix, bool resume);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path last() const { return path_ / "last.safetensors"; }
  std::filesystem::path best() const { return path_ / "best.safetensors"; }

  // One JSON object a line.
  void append_metrics(const std::string& json_line);
  // After a resume: drops the lines of epochs that will be run again.
  void keep_metrics(std::int64_t lines);
  void log(std::string_view line);
  void write(const std::string& name, std::string_view text) const;

 private:
  void append(const std::string& name, std::string_view line);

  std::filesystem::path path_;
  bool warned_ = false;
};

}  // namespace lockring::app
