// Scalars for TensorBoard: an event file in a run's directory.
//
// The file is a sequence of records (TFRecord): u64 length, masked CRC-32C of the length, data, masked CRC-32C of the
// data, little endian. The data are Event messages of TensorFlow's event.proto, in protocol buffer encoding; the first
// states the version "brain.Event:2". TensorBoard groups tags by what stands before their first '/'.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace lockring::app {

// One writer for a directory, one thread at a time.
class EventFile {
 public:
  using Clock = std::function<double()>;  // seconds since 1970
  using Warn = std::function<void(const std::string& message)>;

  // Creates a file of its own, never one that exists, and writes the version. Throws Error{data} if it cannot create
  // it. A later error in writing is told to `warn`, once, and ends the writing but not the run.
  EventFile(const std::filesystem::path& directory, Warn warn, Clock clock = system_seconds);
  ~EventFile();  // flushes
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // A value of the curve `tag` at `step`; a tag takes one value a step.
  void scalar(std::string_view tag, std::int64_t step, double value);
  // A run goes on from `step`: what earlier files hold from there on is void.
  void resume(std::int64_t step);
  // Hands what was written since the last flush to the system. Readers see whole records only.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  static double system_seconds();
  void append(std::string_view event);

  std::filesystem::path path_;
  Warn warn_;
  Clock clock_;
  int file_ = -1;  // -1 after an error
  std::string pending_;
};

// CRC-32C (Castagnoli) as TFRecord stores it: rotated and shifted, since checksums of data that hold checksums are
// weak.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace lockring::app
