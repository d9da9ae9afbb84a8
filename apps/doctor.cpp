// lockring doctor: what this machine offers, or the job that it is asked in, on one screen.
#include "apps/cluster/calibrate.h"
#include "apps/cluster/job_report.h"
#include "apps/command.h"
#include "apps/job.h"
#include "apps/machine.h"
#include "apps/option_values.h"
#include "apps/program.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/devices.h"
#include "core/error.h"
#include "core/files.h"
#include "core/peak.h"
#include "core/text.h"
#include "distributed/device_communicator.h"
#include "nn/optimizer.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <memory>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Peaks {
  double gflops_one_core = 0;
  double gflops_all_cores = 0;
  double memory_gbs_one_core = 0;
  double memory_gbs_all_cores = 0;
};

Peaks measure_peaks(int cores) {
  return {.gflops_one_core = measure_fma_gflops(1),
          .gflops_all_cores = measure_fma_gflops(cores),
          .memory_gbs_one_core = measure_memory_gbs(1),
          .memory_gbs_all_cores = measure_memory_gbs(cores)};
}

double rounded(double value) { return std::round(value * 10) / 10; }

Json components_json(const std::vector<Component>& components) {
  Json json = Json::object();
  for (const Component& component : components) json[component.name] = component.version;
  return json;
}

Json gpus_json(const GpuReport& report) {
  Json list = Json::array();
  for (const GpuInfo& gpu : report.gpus)
    list.push_back({{"device", to_string(gpu.device)},
                    {"name", gpu.name},
                    {"capability", gpu.capability},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", {{"total", gpu.memory_total}, {"free", gpu.memory_free}}},
                    {"peers", gpu.peers}});
  return {{"devices", list},       {"missing", report.missing}, {"driver", report.driver},     {"cuda", report.runtime},
          {"cudnn", report.cudnn}, {"cublas", report.cublas},   {"nccl", dist::nccl_version()}};
}

Json report_json(const Machine& machine, const Peaks& peaks) {
  return {
      {"version", version()},
      {"compiler", compiler()},
      {"cpu", machine.cpu},
      {"instruction_set", machine.instruction_set},
      {"products", machine.products},
      {"hardware_threads", machine.hardware_threads},
      {"threads_per_core", machine.threads_per_core},
      {"usable_cores", machine.usable_cores},
      {"affinity", machine.affinity},
      {"cache_bytes", {{"l1", machine.cache_bytes[0]}, {"l2", machine.cache_bytes[1]}, {"l3", machine.cache_bytes[2]}}},
      {"memory_bytes", {{"total", machine.memory_total}, {"available", machine.memory_available}}},
      {"shared_memory_bytes", {{"total", machine.shared_memory_total}, {"free", machine.shared_memory_free}}},
      {"peak_gflops", {{"one_core", rounded(peaks.gflops_one_core)}, {"all_cores", rounded(peaks.gflops_all_cores)}}},
      {"memory_gb_per_second",
       {{"one_core", rounded(peaks.memory_gbs_one_core)}, {"all_cores", rounded(peaks.memory_gbs_all_cores)}}},
      {"gpus", gpus_json(describe_gpus())},
      {"optional", components_json(optional_parts())},
      {"libraries", components_json(libraries())},
  };
}

std::string known_bytes(std::int64_t bytes) {
  return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : std::string("unknown");
}

void print_row(std::string_view label, std::string_view text) { print("  {:<18}{}\n", label, text); }

void print_machine(const Machine& machine) {
  print("Processor\n");
  print_row("name", machine.cpu);
  print_row("instruction set", fmt::format("{}, matrix products by {}", machine.instruction_set, machine.products));
  const std::string per_core =
      machine.threads_per_core > 0 ? fmt::format(" ({} a core)", machine.threads_per_core) : std::string();
  print_row("hardware threads", fmt::format("{}{}", machine.hardware_threads, per_core));
  print_row("affinity mask", machine.affinity);
  print_row("usable cores", fmt::format("{}, the default number of replicas", machine.usable_cores));
  print_row("caches of a core", fmt::format("L1 {}, L2 {}, L3 {}", known_bytes(machine.cache_bytes[0]),
                                            known_bytes(machine.cache_bytes[1]), known_bytes(machine.cache_bytes[2])));
  print("\nMemory\n");
  print_row("main",
            fmt::format("{}, {} available", known_bytes(machine.memory_total), known_bytes(machine.memory_available)));
  print_row("shared (/dev/shm)", fmt::format("{}, {} free", known_bytes(machine.shared_memory_total),
                                             known_bytes(machine.shared_memory_free)));
}

std::string known(const std::string& version) { return version.empty() ? "unknown" : version; }

void print_gpus() {
  const GpuReport report = describe_gpus();
  print("\nGPUs\n");
  if (!report.missing.empty()) print_row("none", report.missing + "; work is done on the CPU");
  for (const GpuInfo& gpu : report.gpus) {
    print_row(to_string(gpu.device), fmt::format("{}, capability {}, {} multiprocessors", printable(gpu.name),
                                                 gpu.capability, gpu.multiprocessors));
    print_row("", fmt::format("{}, {} free; {}", known_bytes(gpu.memory_total), known_bytes(gpu.memory_free),
                              gpu.peers.empty()
                                  ? "reaches no other GPU's memory directly"
                                  : fmt::format("reaches the memory of {} directly", fmt::join(gpu.peers, ", "))));
  }
  if (!report.runtime.empty())
    print_row("versions", fmt::format("driver's CUDA {}, CUDA {}, cuDNN {}, cuBLAS {}, NCCL {}", known(report.driver),
                                      report.runtime, known(report.cudnn), known(report.cublas),
                                      dist::nccl_version().empty() ? "none" : dist::nccl_version()));
}

void print_peaks(const Peaks& peaks, int cores) {
  print("\nMeasured peaks      {:>12}{:>12}\n", "one core", fmt::format("{} cores", cores));
  print("  {:<18}{:>12.0f}{:>12.0f}  GFLOP/s, float32\n", "multiply-add", peaks.gflops_one_core,
        peaks.gflops_all_cores);
  print("  {:<18}{:>12.1f}{:>12.1f}  GB/s, read and written\n", "memory", peaks.memory_gbs_one_core,
        peaks.memory_gbs_all_cores);
}

void print_build() {
  print("\nThis build\n");
  print_row("lockring", fmt::format("{}, {}", version(), compiler()));
  for (const Component& part : optional_parts()) print_row(part.name, part.version);
  print("\nLibraries\n");
  const std::vector<Component> list = libraries();
  for (std::size_t i = 0; i < list.size(); i += 2) {
    const std::string left = fmt::format("  {:<18}{:<16}", list[i].name, list[i].version);
    const std::string right = i + 1 < list.size() ? fmt::format("{:<18}{}", list[i + 1].name, list[i + 1].version) : "";
    print("{}{}\n", left, right);
  }
}

struct Options {
  bool json = false;
  std::string calibrate;  // file; empty: not asked for
  CalibrationOptions calibration;
};

void report_machine(bool json) {
  const Machine machine = describe_machine();
  const Peaks peaks = measure_peaks(machine.usable_cores);
  if (json) return print("{}\n", report_json(machine, peaks).dump(2));
  print_machine(machine);
  print_gpus();
  print_peaks(peaks, machine.usable_cores);
  print_build();
}

// Measurements of jobs of other sizes stay in the file.
void calibrate_job(const Options& options, dist::World& world) {
  const bool leads = world.rank() == 0;
  const auto say = [&](const std::string& what) {
    if (leads && !options.json) print("measuring {} ...\n", what);
  };
  const std::filesystem::path folder = std::filesystem::absolute(options.calibrate).parent_path();
  check(!leads || std::filesystem::is_directory(folder), "--calibrate {}: there is no folder {}", options.calibrate,
        folder.string());
  AlgorithmTable table;
  if (leads && std::filesystem::exists(options.calibrate)) table = read_calibration(options.calibrate).table;
  Calibration calibration = calibrate(world, options.calibration, say);
  if (!leads) return;
  const std::vector<AlgorithmRow> rows = calibration.table.rows();
  table.replace(rows);
  calibration.table = table;
  write_file(options.calibrate, to_text(calibration));
  if (options.json) return print_text(to_text(calibration));
  std::vector<std::vector<std::string>> lines{{"bytes", "fastest", "microseconds of each"}};
  for (const AlgorithmRow& row : rows) {
    std::vector<std::string> times;
    for (const auto& [name, seconds] : row.seconds) times.push_back(fmt::format("{} {:.1f}", name, seconds * 1e6));
    lines.push_back({fmt::format("{}", row.bytes), row.algorithm, joined(times)});
  }
  print_text("\n" + text_table(lines, {Align::right, Align::left, Align::left}));
  print("\nwritten to {}; for lockring train --allreduce-table and lockring simulate --calibration\n",
        options.calibrate);
}

int run(const Options& options) {
  dist::World& world = job();
  if (!options.calibrate.empty()) {
    calibrate_job(options, world);
  } else if (world.size() > 1) {
    const JobReport report = report_job(world, options.calibration.model);
    if (world.rank() == 0) print_text(options.json ? job_json(report) : job_text(report));
  } else {
    report_machine(options.json);
  }
  return 0;
}

}  // namespace

Action doctor(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--json", options->json, "print one JSON object");
  app.add_option("--calibrate", options->calibrate, "measure all-reduce, links and training, and store the result")
      ->configurable(false)
      ->type_name("FILE");
  app.add_option("--model", options->calibration.model, "architecture to tell the needs of, or to calibrate with");
  app.add_option("--optimizer", options->calibration.optimizer, "of the calibration")
      ->check(one_of(nn::optimizer_names()));
  app.add_option("--replicas", options->calibration.replicas, "threads a rank in the calibration")
      ->check(within(1, 1024));
  app.add_option("--seconds", options->calibration.seconds, "of each of the calibration's measurements")
      ->check(within(0.001, 5));
  app.footer(
      "Example:\n  lockring doctor --json\n  mpirun -np 4 lockring doctor\n"
      "  mpirun -np 4 lockring doctor --calibrate cluster.json");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
