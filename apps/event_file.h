// An event file: what TensorBoard shows of a run, in the run's directory.
//
// The file is a sequence of records (TFRecord): u64 length, masked CRC-32C of the length, data, masked CRC-32C of the
// data, little endian. The data are Event messages; event_record.h makes what they say.
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

  // Creates a file of its own, never one that exists, and writes the version. What cannot be created or written is told
  // to `warn`, once, and is tried again with later events.
  EventFile(const std::filesystem::path& directory, Warn warn, Clock clock = system_seconds);
  ~EventFile();  // flushes
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // An event of a step. Of one tag there is one event a step, and steps rise: TensorBoard takes a step that comes again
  // for a restart, and forgets what came after its first time.
  void add(std::int64_t step, std::string_view event);
  // Hands what was added since the last flush to the system. Readers see whole records only.
  void flush();

  // Empty if it could not be created.
  const std::filesystem::path& path() const { return path_; }
  static double system_seconds();

 private:
  void warn_once(const std::string& reason);

  std::filesystem::path path_;
  Warn warn_;
  Clock clock_;
  bool warned_ = false;
  std::string pending_;
};

// CRC-32C (Castagnoli) as TFRecord stores it: rotated and shifted, since checksums of data that hold checksums are
// weak.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace lockring::app
