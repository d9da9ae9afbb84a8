// What `lockring doctor --calibrate` measures and stores: which all-reduce is the fastest in jobs of this size, and the
// cost model that `lockring simulate` reads. A JSON file.
#pragma once

#include "apps/cluster/cost_model.h"
#include "distributed/world.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

// The fastest all-reduce of so many bytes in a job of so many ranks on so many hosts.
struct AlgorithmRow {
  std::int64_t bytes = 0;
  int ranks = 1;
  int hosts = 1;
  std::string algorithm;                  // "mirrored", "mpi" or one of dist::Algorithm
  std::map<std::string, double> seconds;  // of all that were measured

  bool operator==(const AlgorithmRow&) const = default;
};

class AlgorithmTable {
 public:
  const std::vector<AlgorithmRow>& rows() const { return rows_; }
  // Takes the place of all rows for the same ranks and hosts.
  void replace(const std::vector<AlgorithmRow>& rows);
  // The algorithm of the row whose size is nearest, as a ratio; empty if the job's size was never measured.
  std::string choose(std::int64_t bytes, int ranks, int hosts) const;
  // The fastest of the algorithms named so, in the same row.
  std::string choose(std::int64_t bytes, int ranks, int hosts, const std::vector<std::string>& among) const;

 private:
  const AlgorithmRow* find(std::int64_t bytes, int ranks, int hosts) const;

  std::vector<AlgorithmRow> rows_;
};

struct Calibration {
  std::vector<std::string> machines;  // names, of the last measurement
  AlgorithmTable table;
  CostModel cost;
};

std::string to_text(const Calibration& calibration);
// Throws Error{data} naming `source` unless the text is one that to_text() gives.
Calibration parse_calibration(std::string_view text, const std::string& source);
// Throws Error{data} if the file cannot be read either.
Calibration read_calibration(const std::filesystem::path& file);
// The same on every rank of a job: the first one reads, all others get what it got, be that an error.
Calibration read_calibration(const std::filesystem::path& file, dist::World& world);

}  // namespace lockring::app
