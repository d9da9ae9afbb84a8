// The folder of one run: config.toml, metrics.jsonl, TensorBoard events, last.safetensors, best.safetensors,
// summary.json, log.txt.
//
// Written by one thread of one process: the folder is locked against others for as long as this lives. Checkpoints and
// the summary are replaced whole. What cannot be written throws Error{data}, but for the log, which repeats what was
// shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockring::app {

class RunDirectory {
 public:
  // Looks, and makes nothing yet. An empty `wanted` stands for the next free runs/PREFIX-N. Throws Error{usage} if the
  // folder exists and `resume` is not set, or if it is and the folder holds no checkpoint or another process trains in
  // it.
  RunDirectory(const std::filesystem::path& wanted, std::string prefix, bool resume);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // Makes the folder, or rids the one to resume in of what a killed process left half-written; before all that follows.
  // Throws Error{data} if it cannot be made, Error{usage} if another process was quicker.
  void open();

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
  void write(const std::string& name, std::string_view text) const;

 private:
  bool append(const std::string& name, std::string_view line);
  void check_resumable() const;
  void check_free() const;
  void lock();

  std::filesystem::path path_;  // empty until open() if the next free one is wanted
  std::string prefix_;
  bool resume_;
  int lock_ = -1;
};

}  // namespace lockring::app
