#include "apps/cluster/calibration.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 2;

double checked(double value, const char* what) {
  if (!std::isfinite(value) || value < 0) fail(ErrorCode::data, "{} is {}", what, value);
  return value;
}

Json to_json(const AlgorithmRow& row) {
  Json seconds = Json::object();
  for (const auto& [name, value] : row.seconds) seconds[name] = value;
  return {{"bytes", row.bytes},
          {"ranks", row.ranks},
          {"hosts", row.hosts},
          {"algorithm", row.algorithm},
          {"seconds", seconds}};
}

AlgorithmRow row_from(const Json& json) {
  AlgorithmRow row;
  row.bytes = json.at("bytes").get<std::int64_t>();
  row.ranks = json.at("ranks").get<int>();
  row.hosts = json.at("hosts").get<int>();
  row.algorithm = json.at("algorithm").get<std::string>();
  for (const auto& [name, value] : json.at("seconds").items())
    row.seconds[name] = checked(value.get<double>(), "a measured time");
  check(row.bytes > 0 && row.ranks > 0 && row.hosts > 0 && row.seconds.contains(row.algorithm), ErrorCode::data,
        "a row of {} bytes for {} ranks on {} hosts does not tell the time of '{}'", row.bytes, row.ranks, row.hosts,
        row.algorithm);
  return row;
}

Json to_json(const CostModel& cost) {
  Json compute = Json::array();
  for (const ComputeCost& point : cost.compute)
    compute.push_back({{"images", point.images}, {"seconds", point.seconds}});
  return {{"model", cost.model},
          {"optimizer", cost.optimizer},
          {"parameter_bytes", cost.bytes},
          {"compute", compute},
          {"backward_share", cost.backward_share},
          {"update_seconds", cost.update_seconds},
          {"meeting_seconds", cost.meeting_seconds},
          {"memory_seconds_per_byte", cost.memory_seconds_per_byte},
          {"latency_seconds", cost.latency_seconds},
          {"link_seconds_per_byte", cost.link_seconds_per_byte},
          {"burst_bytes", cost.burst_bytes},
          {"burst_seconds_per_byte", cost.burst_seconds_per_byte}};
}

CostModel cost_from(const Json& json) {
  const auto number = [&](const char* key) { return checked(json.at(key).get<double>(), key); };
  CostModel cost;
  cost.model = json.at("model").get<std::string>();
  cost.optimizer = json.at("optimizer").get<std::string>();
  cost.bytes = json.at("parameter_bytes").get<std::int64_t>();
  for (const Json& point : json.at("compute")) {
    cost.compute.push_back(
        {point.at("images").get<std::int64_t>(), checked(point.at("seconds").get<double>(), "compute")});
    const std::size_t count = cost.compute.size();
    check(cost.compute.back().images > (count > 1 ? cost.compute[count - 2].images : 0), ErrorCode::data,
          "the images of 'compute' do not ascend");
  }
  check(!cost.compute.empty() && cost.bytes > 0, ErrorCode::data, "it holds no measurement of computing");
  cost.backward_share = number("backward_share");
  cost.update_seconds = number("update_seconds");
  cost.meeting_seconds = number("meeting_seconds");
  cost.memory_seconds_per_byte = number("memory_seconds_per_byte");
  cost.latency_seconds = number("latency_seconds");
  cost.link_seconds_per_byte = number("link_seconds_per_byte");
  cost.burst_bytes = number("burst_bytes");
  cost.burst_seconds_per_byte = number("burst_seconds_per_byte");
  return cost;
}

}  // namespace

void AlgorithmTable::replace(const std::vector<AlgorithmRow>& rows) {
  for (const AlgorithmRow& row : rows)
    std::erase_if(rows_, [&](const AlgorithmRow& old) { return old.ranks == row.ranks && old.hosts == row.hosts; });
  rows_.insert(rows_.end(), rows.begin(), rows.end());
}

const AlgorithmRow* AlgorithmTable::find(std::int64_t bytes, int ranks, int hosts) const {
  const auto distance = [&](const AlgorithmRow& row) {
    return std::abs(std::log(static_cast<double>(row.bytes) / static_cast<double>(std::max<std::int64_t>(bytes, 1))));
  };
  const AlgorithmRow* best = nullptr;
  for (const AlgorithmRow& row : rows_)
    if (row.ranks == ranks && row.hosts == hosts && (best == nullptr || distance(row) < distance(*best))) best = &row;
  return best;
}

std::string AlgorithmTable::choose(std::int64_t bytes, int ranks, int hosts) const {
  const AlgorithmRow* row = find(bytes, ranks, hosts);
  return row == nullptr ? "" : row->algorithm;
}

std::string AlgorithmTable::choose(std::int64_t bytes, int ranks, int hosts,
                                   const std::vector<std::string>& among) const {
  const AlgorithmRow* row = find(bytes, ranks, hosts);
  std::string best;
  for (const std::string& name : among)
    if (row != nullptr && row->seconds.contains(name) &&
        (best.empty() || row->seconds.at(name) < row->seconds.at(best)))
      best = name;
  return best;
}

std::string to_text(const Calibration& calibration) {
  Json rows = Json::array();
  for (const AlgorithmRow& row : calibration.table.rows()) rows.push_back(to_json(row));
  const Json json{{"format", kFormat},
                  {"machines", calibration.machines},
                  {"allreduce", rows},
                  {"cost", to_json(calibration.cost)}};
  return json.dump(2) + "\n";
}

Calibration parse_calibration(std::string_view text, const std::string& source) {
  try {
    const Json json = Json::parse(text);
    check(json.at("format") == kFormat, ErrorCode::data, "its format is not {}", kFormat);
    Calibration calibration;
    calibration.machines = json.at("machines").get<std::vector<std::string>>();
    std::vector<AlgorithmRow> rows;
    for (const Json& row : json.at("allreduce")) rows.push_back(row_from(row));
    calibration.table.replace(rows);
    calibration.cost = cost_from(json.at("cost"));
    return calibration;
  } catch (const std::exception& error) {
    fail(ErrorCode::data, "{} is not a calibration of lockring doctor --calibrate: {}", source, error.what());
  }
}

Calibration read_calibration(const std::filesystem::path& file) {
  return parse_calibration(read_file(file), file.string());
}

Calibration read_calibration(const std::filesystem::path& file, dist::World& world) {
  std::string text;
  if (world.rank() == 0) {
    try {
      text = "+" + read_file(file);
    } catch (const Error& error) {
      text = "-" + std::string(error.what());
    }
  }
  text = world.all().all_gather(text)[0];
  check(text.starts_with('+'), ErrorCode::data, "{}", text.substr(1));
  return parse_calibration(text.substr(1), file.string());
}

}  // namespace lockring::app
