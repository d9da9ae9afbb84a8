// The folder of one run: config.toml, metrics.jsonl, TensorBoard events, last.safetensors, best.safetensors,
// summary.json, status.json, log.txt.
//
// Written by one thread of one process: the folder is locked against others for as long as this lives. Checkpoints and
// JSON objects are replaced whole; lines are added whole. The bundles are the run's purpose: one that cannot be written
// ends it (checkpoint.h). The text files only tell of it: one that cannot be written is told of once, and is tried
// again the next time.
#pragma once

#include "apps/run_lock.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace lockring::app {

class RunDirectory {
 public:
  using Warn = std::function<void(const std::string& message)>;

  // Looks, and makes nothing yet. An empty `wanted` stands for the next free runs/PREFIX-N. Throws Error{usage} if the
  // folder exists and `resume` is not set, or if it is and the folder holds no checkpoint or another process trains in
  // it.
  RunDirectory(const std::filesystem::path& wanted, std::string prefix, bool resume, Warn warn);
  // For a rank that leaves the writing to another: nothing is looked at or written.
  static RunDirectory of_another();

  // Makes the folder, or rids the one to resume in of what a killed process left half-written; before all that follows.
  // Throws Error{data} if it cannot be made, Error{usage} if another process was quicker.
  void open();

  // Whether this rank is the one that writes.
  bool own() const { return own_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path last() const { return path_ / "last.safetensors"; }
  std::filesystem::path best() const { return path_ / "best.safetensors"; }
  std::filesystem::path config() const { return path_ / "config.toml"; }

  // One JSON object a line, with its "epoch".
  void append_metrics(const std::string& json_line);
  // After a resume: keeps one line for each of the first `epochs` epochs. Those of epochs that will be run again go,
  // and so does what is not whole.
  void keep_metrics(std::int64_t epochs);
  void log(std::string_view line);
  // Replaces a file.
  void write(const std::string& name, std::string_view text);

 private:
  RunDirectory() = default;
  void append(const std::string& name, std::string_view line);
  void warn_once(const std::string& name, const std::string& message);
  void check_resumable() const;
  void check_free() const;
  void lock();

  std::filesystem::path path_;  // empty until open() if the next free one is wanted
  std::string prefix_;
  bool own_ = false;
  bool resume_ = false;
  Warn warn_;
  RunLock lock_;
  std::set<std::string> warned_;  // names of files
};

}  // namespace lockring::app
