// lockring doctor: what this machine offers, on one screen.
#include "apps/command.h"
#include "apps/machine.h"
#include "apps/program.h"
#include "apps/terminal.h"
#include "core/peak.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
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

int run(bool json) {
  const Machine machine = describe_machine();
  if (json) {
    print("{}\n", report_json(machine, measure_peaks(machine.usable_cores)).dump(2));
    return 0;
  }
  print_machine(machine);
  print_peaks(measure_peaks(machine.usable_cores), machine.usable_cores);
  print_build();
  return 0;
}

}  // namespace

Action doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print one JSON object");
  app.footer("Example:\n  lockring doctor --json");
  return [json] { return run(*json); };
}

}  // namespace lockring::app
